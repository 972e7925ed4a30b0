"""The random sample of texts for readers who do not know the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from devtools.prose_sample import main, sample

MODULE = '''"""Orders."""


def order(topic, count):
    """Return the order."""
    problem = f"{count} records are late"
    if count:
        raise ValueError(f"topic {topic!r} has " + f"{count} records", code=1, hint="wait a day.")
    raise Late(problem) if topic else build(message="there is no topic", hint=HINT)
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "orders.py"
    path.write_text(MODULE)
    return path


def test_sample_of_errors_has_message_with_placeholders_and_hint(module: Path) -> None:
    found = [(text.line, text.words) for text in sample([module], "errors", 9, 0)]
    assert found == [
        (8, "topic {topic} has {count} records | wait a day."),
        (9, "there is no topic | {HINT}"),
    ]


def test_sample_of_docstrings_has_names_and_no_errors(module: Path) -> None:
    found = [text.words for text in sample([module], "docstrings", 9, 0)]
    assert found == ["orders: Orders.", "order: Return the order."]


def test_sample_of_tests_has_words_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "test_orders.py").write_text("def test_late_order_is_dropped(): ...\n")
    (found,) = sample([tmp_path], "tests", 9, 0)
    assert found.words == "late order is dropped"


def test_sample_has_requested_number_of_texts_in_order(tmp_path: Path) -> None:
    names = [f"def test_order_{number}(): ...\n" for number in range(100)]
    (tmp_path / "test_orders.py").write_text("".join(names))
    found = sample([tmp_path], "tests", 10, 1)
    lines = [text.line for text in found]
    assert (len(lines), lines) == (10, sorted(lines))
    assert sample([tmp_path], "tests", 10, 1) == found
    assert sample([tmp_path], "tests", 10, 2) != found


def test_prose_sample_command_prints_file_line_and_text(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(module), "--kind", "errors", "--count", "1", "--seed", "1"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{module}:")
    assert line.endswith(("wait a day.", "there is no topic | {HINT}"))
