"""`suppress` equals a model, with any batch boundaries and by both engines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import sum_
from kstreams.durations import milliseconds
from kstreams.emit import (
    at_most_every,
    each_update,
    every,
    once_per_batch,
    suppress,
    until_time_limit,
    until_window_closes,
)
from kstreams.errors import LimitError, TopologyError
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_testing.driver import TopologyTestDriver
from tests.kstreams.windows.suppress_model import BufferFullError, SuppressModel, Update
from tests.kstreams.windows.test_properties import any_windows, model, rows_of
from tests.support.windows.windowed_runs import SOURCE, Row, store_for

TUMBLING = TumblingWindows(milliseconds(10), grace=milliseconds(3))
TIMES = st.integers(0, 30)
UPDATES = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 9), TIMES))
BOUNDS = st.none() | st.integers(0, 2)
CUTS = st.sets(st.integers(1, 15), max_size=3)


def suppressing(until: Any, key: Any) -> tuple[TopologyTestDriver, Any, Any]:
    """Return a driver of a topology with `suppress` only, its source and its sink."""
    source: Any = Topic("in", key, INT64, nulls="pass")
    sink: Any = Topic("out", key, INT64, nulls="pass")
    builder = TopologyBuilder("suppress")
    store: Any = buffer_store("held", key=key, value=INT64)
    held: Any = suppress(until, store=store)
    node = builder.add_processor("held", held, builder.add_source("in", source))
    builder.add_sink("out", sink, node)
    return TopologyTestDriver(builder.build(), recreate_processors=True), source, sink


def found(driver: TopologyTestDriver, sink: Any) -> list[Update]:
    return [(record.key, record.value, record.timestamp) for record in driver.read(sink)]


def batches(rows: Sequence[Any], cuts: set[int]) -> list[Sequence[Any]]:
    ends = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    return [rows[low:high] for low, high in pairwise(ends)]


def compare(driver: TopologyTestDriver, source: Any, sink: Any, model: Any, parts: Any) -> None:
    """Run batches by `suppress` and by its model, until either rejects a record."""
    now = -1
    for part in parts:
        expected: list[Update] = []
        is_full = False
        for update in part:
            now = max(now, update[2])
            try:
                expected += [*model.put(update, now), *model.tick(now)]
            except BufferFullError:
                is_full = True
                break
        records = [Record(*update) for update in part]
        if is_full:
            with pytest.raises(LimitError):
                driver.pipe_batch(source, records)
            return
        driver.pipe_batch(source, records)
        assert found(driver, sink) == expected


@settings(max_examples=150)
@given(st.integers(0, 12), BOUNDS, st.sampled_from(["fail", "emit-early"]), UPDATES, CUTS)
def test_suppress_until_time_limit_equals_model(
    limit: int, bound: int | None, full: Any, updates: list[Update], cuts: set[int]
) -> None:
    until = until_time_limit(milliseconds(limit), max_records=bound, full=full)
    expected_of = SuppressModel(limit, max_records=bound, fails=full == "fail")
    driver, source, sink = suppressing(until, TEXT)
    with driver:
        compare(driver, source, sink, expected_of, batches(updates, cuts))


@settings(max_examples=150)
@given(BOUNDS, UPDATES, st.lists(st.integers(0, 3)), CUTS)
def test_suppress_until_window_closes_equals_model(
    bound: int | None, updates: list[Update], starts: list[int], cuts: set[int]
) -> None:
    """Windows arrive at any time, including closed ones."""
    until = until_window_closes(TUMBLING, max_records=bound)
    expected_of = SuppressModel(3, by_window=True, max_records=bound, fails=True)
    windows = [Windowed(key, start * 10, start * 10 + 10) for start in starts for key in "ab"]
    rows = [
        (window, value, time) for window, (_, value, time) in zip(windows, updates, strict=False)
    ]
    driver, source, sink = suppressing(until, windowed(TEXT, TUMBLING))
    with driver:
        compare(driver, source, sink, expected_of, batches(rows, cuts))


def aggregating(
    windows: Any, emit: Any, execution: Any, until: Any = None
) -> tuple[TopologyTestDriver, Any]:
    """Return a driver of an aggregation, followed by `suppress` if given, and its sink."""
    key = windowed(TEXT, windows)
    sink: Any = Topic("out", key, INT64, nulls="pass")
    builder = TopologyBuilder("suppressed")
    source: Any = builder.add_source("in", SOURCE)
    supplier: Any = windowed_aggregate(
        windows, sum_(INT64), store=store_for(windows, INT64), emit=emit, execution=execution
    )
    results: Any = builder.add_processor("windows", supplier, source)
    if until is not None:
        held: Any = suppress(until, store=buffer_store("held", key=key, value=INT64))
        results = builder.add_processor("held", held, results)
    builder.add_sink("out", sink, results)
    return TopologyTestDriver(builder.build(), recreate_processors=True), sink


def updates_of(windows: Any, rows: Sequence[Row]) -> list[list[Update]]:
    """Return the updates made by each record."""
    driver, sink = aggregating(windows, each_update(), "records")
    with driver:
        each = []
        for row in rows:
            driver.pipe(SOURCE, row[0], row[1], timestamp=row[2])
            each.append(found(driver, sink))
        return each


@pytest.mark.parametrize("execution", ["records", "columns"])
@settings(max_examples=60)
@given(windows=any_windows, rows=rows_of, limit=st.none() | st.integers(0, 12), cuts=CUTS)
def test_suppressed_updates_equal_model_by_both_engines(
    execution: Any, windows: Any, rows: list[Row], limit: int | None, cuts: set[int]
) -> None:
    delay = windows.close_delay_ms if limit is None else limit
    expected_of = SuppressModel(delay, by_window=limit is None)
    expected, now = [], -1
    for row, updates in zip(rows, updates_of(windows, rows), strict=True):
        now = max(now, row[2])
        for update in updates:
            expected += expected_of.put(update, now)
        expected += expected_of.tick(now)
    until: Any = (
        until_window_closes(windows) if limit is None else until_time_limit(milliseconds(limit))
    )
    driver, sink = aggregating(windows, each_update(), execution, until)
    with driver:
        results = []
        for part in batches(rows, cuts):
            driver.pipe_batch(SOURCE, [Record(*row) for row in part])
            results += found(driver, sink)
    assert results == expected


@pytest.mark.parametrize("execution", ["records", "columns"])
@settings(max_examples=60)
@given(windows=any_windows, rows=rows_of, cuts=CUTS, closes=st.booleans())
def test_suppress_until_window_closes_releases_final_result_of_each_window_once(
    execution: Any, windows: Any, rows: list[Row], cuts: set[int], closes: bool
) -> None:
    """A batch forwards its results at its end, after stream time has advanced."""
    rows = [*rows, ("end", 0, 100_000_000)]
    driver, sink = aggregating(windows, once_per_batch(), execution, until_window_closes(windows))
    with driver:
        results = []
        for part in batches(rows, cuts):
            driver.pipe_batch(SOURCE, [Record(*row) for row in part])
            results += found(driver, sink)
        if closes:
            driver.close_windows()
    finals, late = model(windows, rows)
    sums = {(key, *bounds): sum(values) for (key, *bounds), values in finals.items()}
    named = [((w.key, w.start_ms, w.end_ms), value) for w, value, _ in results]
    assert dict(named) == {name: total for name, total in sums.items() if name[0] != "end"}
    assert len(dict(named)) == len(named)
    assert driver.dropped.get("late", 0) == late


@pytest.mark.parametrize("emit", [every(milliseconds(60)), at_most_every(milliseconds(60))])
def test_build_rejects_suppress_until_window_closes_after_results_that_are_forwarded_later(
    emit: Any,
) -> None:
    with pytest.raises(TopologyError, match="node 'windows' forwards this result later, by"):
        aggregating(TUMBLING, emit, "auto", until_window_closes(TUMBLING))
    driver, _ = aggregating(TUMBLING, emit, "auto", until_time_limit(milliseconds(5)))
    driver.close()


def test_suppress_until_window_closes_raises_error_above_its_limit_at_end_of_batch() -> None:
    until = until_window_closes(TUMBLING, max_records=1)
    driver, sink = aggregating(TUMBLING, once_per_batch(), "records", until)
    with driver:
        driver.pipe_batch(SOURCE, [Record("a", 1, 1), Record("b", 2, 12), Record("b", 3, 13)])
        assert [value for _, value, _ in found(driver, sink)] == [1]
        with pytest.raises(LimitError):
            driver.pipe(SOURCE, "c", 1, timestamp=14)
