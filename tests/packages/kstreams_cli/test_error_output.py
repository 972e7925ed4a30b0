"""Errors on a terminal and elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from kstreams.errors import ProcessingError, UnknownTopicError, Where
from kstreams_cli import problems

ERROR = UnknownTopicError("no [topic]", hint="make it", where=Where(topic="t", partition=3))


def shown(error: Exception, monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, width=60, force_terminal=terminal, color_system=None)
    monkeypatch.setattr(problems, "stderr", lambda: console)
    problems.show_problem(error, debug=False)
    return file.getvalue()


def test_error_is_plain_lines_if_stderr_is_not_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(ERROR, monkeypatch, terminal=False) == (
        "UnknownTopicError: no [topic]\nat topic 't', partition 3\nHint: make it\n"
    )


def test_error_is_a_panel_if_stderr_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line.strip("│ ") for line in shown(ERROR, monkeypatch, terminal=True).splitlines()]
    assert lines[0].startswith("╭─ UnknownTopicError ──")
    assert [line for line in lines[1:-1] if line] == [
        "no [topic]",
        "at topic 't', partition 3",
        "Hint: make it",
    ]


def test_traceback_of_a_processor_error_is_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = ProcessingError("it raised", cause_traceback="\n".join(f"line {n}" for n in range(20)))
    text = shown(error, monkeypatch, terminal=False)
    assert all(f"line {n}\n" in text for n in range(20))


@pytest.mark.parametrize("terminal", [False, True])
def test_quoted_text_cannot_control_the_terminal(
    monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    quoted = "x\x1b[31m\x9b2J\x1b]0;title\x07\r\ud800\nError: all is lost"
    errors: list[Exception] = [
        ProcessingError(quoted, cause_traceback=quoted, hint=quoted).at(key=quoted, node=quoted),
        ValueError(quoted),
        type("A\x1b[2J[bold]", (ValueError,), {})(quoted),
    ]
    for error in errors:
        text = shown(error, monkeypatch, terminal=False)
        text.encode()
        assert not {"\x1b", "\x9b", "\x07", "\r"} & {*text}
        assert not [line for line in text.splitlines() if line.startswith("Error:")]
        if terminal:
            styled = shown(error, monkeypatch, terminal=True)
            styled.encode()
            assert not {"\x9b", "\x07", "\r"} & {*styled}
            assert "\x1b]" not in styled
            assert "\x1b[2J" not in styled
