"""Log lines of a restore: progress of a long one, two lines for a short one, none if empty."""

from __future__ import annotations

import logging

import pytest

from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.pointer import ObjectRef
from kstreams.state.log.restore_progress import RestoreProgress

_TASK = TaskKey("app", "group", 3)


def _refs(count: int) -> list[ObjectRef]:
    return [ObjectRef(f"object-{n}", "", 2_000_000) for n in range(count)]


def _log_lines(
    caplog: pytest.LogCaptureFixture, refs: list[ObjectRef], *, seconds_each: float
) -> list[tuple[int, str]]:
    at = 0.0

    def now() -> float:
        return at

    with caplog.at_level(logging.INFO, "kstreams"):
        progress = RestoreProgress(_TASK, refs, now)
        for ref in refs:
            at += seconds_each
            progress.done(ref)
    return [(record.levelno, record.getMessage()) for record in caplog.records]


def test_short_restore_logs_begin_and_end(caplog: pytest.LogCaptureFixture) -> None:
    assert _log_lines(caplog, _refs(3), seconds_each=1) == [
        (logging.INFO, f"task {_TASK}: restoring 3 objects, 6.0 MB"),
        (logging.INFO, f"task {_TASK}: restored 3 objects, 6.0 MB in 3.0 s"),
    ]


def test_long_restore_warns_every_five_seconds(caplog: pytest.LogCaptureFixture) -> None:
    lines = _log_lines(caplog, _refs(8), seconds_each=2)
    assert lines[1:-1] == [
        (
            logging.WARNING,
            f"task {_TASK}: restoring, 3 of 8 objects, 6.0 of 16.0 MB, 37 %",
        ),
        (
            logging.WARNING,
            f"task {_TASK}: restoring, 6 of 8 objects, 12.0 of 16.0 MB, 75 %",
        ),
    ]


def test_empty_restore_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    assert _log_lines(caplog, [], seconds_each=1) == []
