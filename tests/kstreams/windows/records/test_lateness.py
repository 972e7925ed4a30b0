"""Lateness is measured by stream time, or by an early close time while that is later."""

from __future__ import annotations

from typing import Any

import pytest

from kstreams import Record
from kstreams.windows.late import Late
from kstreams.windows.plan import Routes
from kstreams.windows.records.lateness import late_call, lateness_clock
from tests.support.apps.recording_context import Recording


class Context(Recording):
    """A context with given times."""

    def __init__(self, stream_time: int, close_time: int) -> None:
        super().__init__()
        self.now, self.closed = stream_time, close_time

    @property
    def stream_time(self) -> int:
        return self.now

    @property
    def close_time(self) -> int:
        return self.closed


@pytest.mark.parametrize(
    ("stream_time", "close_time", "expected"),
    [(-1, -1, -1), (70, -1, 70), (70, 50, 70), (70, 90, 90)],
)
def test_lateness_clock_is_later_of_stream_time_and_close_time(
    stream_time: int, close_time: int, expected: int
) -> None:
    assert lateness_clock(Context(stream_time, close_time)).stream_time == expected


def test_lateness_clock_advances_with_stream_time_after_early_close() -> None:
    context = Context(70, 90)
    clock = lateness_clock(context)
    context.now = 80
    assert clock.stream_time == 90
    context.now = 100
    assert clock.stream_time == 100


def test_late_record_is_counted_and_forwarded_to_child_with_lateness() -> None:
    context: Any = Context(70, 90)
    late = late_call(context, lateness_clock(context), 5, Routes("results", "late"))
    late(Record("a", 7, 12), 10, 20)
    assert context.dropped == ["late"]
    assert context.forwarded == [("late", Record("a", Late(7, 10, 20, 90, 65), 12))]


def test_late_record_without_child_is_counted_only() -> None:
    context: Any = Context(70, -1)
    late_call(context, lateness_clock(context), 5, None)(Record("a", 7, 12), 10, 20)
    assert (context.dropped, context.forwarded) == (["late"], [])
