"""Final results do not depend on batches, and equal the models."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
)
from tests.kstreams.windows.window_models import session_finals, sliding_finals, time_finals
from tests.support.windows.windowed_runs import Result, Row, run

SIZES = st.integers(1, 12)
GRACES = st.integers(0, 12)
TIMES = st.integers(0, 40) | st.integers(0, 120)
FAR = ("end", 0, 100_000_000)
"""A record that closes all windows before it."""

rows_of = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 99), TIMES), max_size=20)


@st.composite
def time_windows(draw: st.DrawFn) -> Any:
    size, grace = draw(SIZES), milliseconds(draw(GRACES))
    if draw(st.booleans()):
        return TumblingWindows(milliseconds(size), grace=grace)
    return HoppingWindows(milliseconds(size), milliseconds(draw(st.integers(1, size))), grace=grace)


session_windows = st.builds(
    lambda gap, grace: SessionWindows(milliseconds(gap), grace=milliseconds(grace)), SIZES, GRACES
)
sliding_windows = st.builds(
    lambda span, grace: SlidingWindows(milliseconds(span), grace=milliseconds(grace)), SIZES, GRACES
)
any_windows = time_windows() | session_windows | sliding_windows


def model(windows: Any, rows: list[Row]) -> tuple[dict[tuple[str, int, int], list[int]], int]:
    grace = windows.grace // timedelta(milliseconds=1)
    if isinstance(windows, SessionWindows):
        return session_finals(windows.gap_ms, grace, rows)
    if isinstance(windows, SlidingWindows):
        return sliding_finals(windows.difference_ms, grace, rows)
    return time_finals(windows, rows)


def by_window(results: list[Result]) -> dict[tuple[str, int, int], list[int]]:
    return {(w.key, w.start_ms, w.end_ms): sorted(v) for w, v, _ in results if v is not None}


def without_end(found: dict[Any, Any]) -> dict[Any, Any]:
    return {handle: values for handle, values in found.items() if handle[0] != "end"}


@settings(max_examples=150)
@given(any_windows, rows_of, st.data())
def test_final_results_are_forwarded_once_with_any_batches(
    windows: Any, rows: list[Row], data: st.DataObject
) -> None:
    rows = [*rows, FAR]
    places = st.integers(1, len(rows) - 1) if len(rows) > 1 else st.nothing()
    cuts = sorted(data.draw(st.sets(places, max_size=4))) if len(rows) > 1 else []
    batches, dropped, left = run(windows, on_close(), rows, cuts)
    finals = [result for batch in batches for result in batch if result[0].key != "end"]
    expected, late = model(windows, rows)
    assert by_window(finals) == without_end(expected)
    assert len({w for w, _, _ in finals}) == len(finals)
    assert dropped.get("late", 0) == late
    assert isinstance(windows, HoppingWindows) or left == 1


@settings(max_examples=100)
@given(any_windows, rows_of)
def test_last_update_of_window_is_its_final_result(windows: Any, rows: list[Row]) -> None:
    rows = [*rows, FAR]
    batches, dropped, _ = run(windows, each_update(), rows)
    last: dict[tuple[str, int, int], list[int] | None] = {}
    for window, values, _ in batches[0]:
        last[window.key, window.start_ms, window.end_ms] = (
            None if values is None else sorted(values)
        )
    expected, late = model(windows, rows)
    assert {handle: values for handle, values in last.items() if values is not None} == expected
    assert dropped.get("late", 0) == late


@pytest.mark.long
@settings(max_examples=100)
@given(time_windows(), rows_of, st.booleans())
def test_each_pair_of_record_and_window_is_aggregated_or_dropped(
    windows: Any, rows: list[Row], close: bool
) -> None:
    rows = [*rows, FAR]
    assigned = sum(len(windows.starts(time)) for key, _, time in rows if key != "end")
    batches, dropped, _ = run(windows, on_close() if close else each_update(), rows)
    last = {window: values for window, values, _ in batches[0] if window.key != "end"}
    assert assigned == sum(map(len, last.values())) + dropped.get("late", 0)


@given(any_windows, rows_of)
def test_time_of_result_is_latest_time_of_its_records(windows: Any, rows: list[Row]) -> None:
    times = {value: time for value, (_, _, time) in enumerate(rows)}
    numbered = [(key, value, time) for value, (key, _, time) in enumerate(rows)]
    batches, _, _ = run(windows, on_close(), [*numbered, ("end", -1, FAR[2])])
    for window, values, timestamp in batches[0]:
        if window.key != "end":
            assert timestamp == max(times[value] for value in values)


@pytest.mark.parametrize(
    "windows",
    [
        TumblingWindows(milliseconds(10)),
        HoppingWindows(milliseconds(10), milliseconds(5)),
        CalendarWindows("day", tz="Europe/Berlin"),
        SlidingWindows(milliseconds(10)),
        SessionWindows(milliseconds(10)),
    ],
    ids=lambda windows: type(windows).__name__,
)
def test_jump_of_stream_time_loses_no_window(windows: Any) -> None:
    hour = 3_600_000
    rows = [("k", number, number * 1000 * hour) for number in range(6)]
    batches, dropped, _ = run(windows, on_close(), rows, cuts=[1, 2, 4])
    found = [value for batch in batches for _, values, _ in batch for value in values]
    assert sorted(set(found)) == [0, 1, 2, 3, 4]
    assert dropped == {}
    assert [bool(batch) for batch in batches] == [False, True, True, True]
