"""`WindowBounds` equal the bounds given by the windows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.durations import milliseconds
from kstreams.windows import CalendarWindows, HoppingWindows, TumblingWindows
from kstreams.windows.engine import engine_of
from kstreams.windows.records.bounds import WindowBounds

KINDS = (
    TumblingWindows(milliseconds(7)),
    HoppingWindows(milliseconds(10), milliseconds(4)),
    HoppingWindows(milliseconds(9), milliseconds(3)),
    CalendarWindows("day", tz="Europe/Berlin"),
)


def bounds_of(windows: Any) -> WindowBounds:
    return WindowBounds(windows, engine_of(windows).spans)


@pytest.mark.parametrize("windows", KINDS, ids=lambda windows: type(windows).__name__)
@given(times=st.lists(st.integers(-20, 10**9) | st.integers(-5, 60), max_size=30))
def test_cached_bounds_equal_bounds_of_windows(windows: Any, times: list[int]) -> None:
    bounds = bounds_of(windows)
    for time in [*times, *times]:
        expected = [(start, windows.end(start)) for start in windows.starts(time)]
        assert list(bounds[time // bounds.span_ms]) == expected


def test_number_of_cached_times_of_window_bounds_is_limited() -> None:
    bounds = bounds_of(TumblingWindows(milliseconds(1)))
    for time in range(5000):
        assert list(bounds[time]) == [(time, time + 1)]
        assert len(bounds) <= 1024


def test_number_of_cached_windows_of_bounds_is_limited() -> None:
    bounds = bounds_of(HoppingWindows(milliseconds(3000), milliseconds(1)))
    for time in range(10_000, 10_100):
        assert len(bounds[time]) == 3000
        assert sum(map(len, bounds.values())) <= 1 << 16


def test_bounds_of_calendar_windows_are_not_cached() -> None:
    bounds = bounds_of(CalendarWindows("day"))
    for time in range(100):
        assert len(bounds[time]) == 1
    assert len(bounds) == 0
