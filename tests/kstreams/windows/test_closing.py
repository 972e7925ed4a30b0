"""`close_windows` at the end of a run: open windows close, and stay closed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder
from kstreams.aggregators import count, sum_
from kstreams.durations import milliseconds, minutes
from kstreams.emit import (
    at_most_every,
    each_update,
    every,
    on_close,
    once_per_batch,
    suppress,
    until_time_limit,
    until_window_closes,
)
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.window.kind import window_store
from kstreams.topology import to_function
from kstreams.windows import (
    SessionWindows,
    TumblingWindows,
    UnlimitedWindows,
    split_late,
    windowed,
    windowed_aggregate,
)
from kstreams_testing.driver import TopologyTestDriver
from tests.kstreams.windows.test_properties import any_windows, by_window, model, rows_of
from tests.support.windows.windowed_runs import SOURCE, Result, Row, driver_of, store_for

TUMBLING = TumblingWindows(milliseconds(10), grace=milliseconds(5))
SESSION = SessionWindows(milliseconds(3), grace=milliseconds(5))
EXECUTIONS = pytest.mark.parametrize("execution", ["records", "columns"])


def read(driver: TopologyTestDriver, sink: Any) -> list[Result]:
    return [(record.key, record.value, record.timestamp) for record in driver.read(sink)]


def put(driver: TopologyTestDriver, rows: list[Row]) -> None:
    driver.pipe_batch(SOURCE, [Record(key, value, time) for key, value, time in rows])


@settings(max_examples=80)
@given(any_windows, rows_of, st.integers(0, 20))
def test_close_windows_gives_each_open_window_its_final_result(
    windows: Any, rows: list[Row], place: int
) -> None:
    driver, sink = driver_of(windows, on_close())
    with driver:
        put(driver, rows[:place])
        put(driver, rows[place:])
        driver.close_windows()
        finals = read(driver, sink)
        expected, late = model(windows, rows)
        assert by_window(finals) == expected
        assert len({window for window, _, _ in finals}) == len(finals)
        assert driver.dropped.get("late", 0) == late
        driver.close_windows()
        assert read(driver, sink) == []


@settings(max_examples=60)
@given(any_windows, rows_of, rows_of)
def test_window_closed_by_close_windows_is_never_updated(
    windows: Any, rows: list[Row], more: list[Row]
) -> None:
    driver, sink = driver_of(windows, on_close())
    with driver:
        put(driver, rows)
        before = driver.stream_time("in")
        driver.close_windows()
        assert driver.stream_time("in") == before
        finals = read(driver, sink)
        put(driver, more)
        driver.close_windows()
        finals += read(driver, sink)
        assert len({window for window, _, _ in finals}) == len(finals)


@pytest.mark.long
@settings(max_examples=60)
@given(any_windows, rows_of, rows_of, st.data())
def test_close_windows_gives_same_results_by_columns_and_records(
    windows: Any, rows: list[Row], more: list[Row], data: st.DataObject
) -> None:
    emit = data.draw(st.sampled_from([on_close(), once_per_batch(), each_update()]))
    found = []
    for execution in ("records", "columns"):
        driver, sink = driver_of(windows, emit, sum_(INT64), execution)
        with driver:
            put(driver, rows)
            driver.close_windows()
            put(driver, more)
            driver.close_windows()
            found.append((read(driver, sink), driver.dropped))
    assert found[0] == found[1]


@EXECUTIONS
@pytest.mark.parametrize("windows", [TUMBLING, SESSION])
def test_records_of_windows_closed_by_close_windows_are_late(windows: Any, execution: Any) -> None:
    builder = TopologyBuilder("t")
    supplier: Any = windowed_aggregate(
        windows, count(), store=store_for(windows, INT64), emit=on_close(), execution=execution
    )
    source: Any = builder.add_source("in", SOURCE)
    results, late = split_late(builder, "counts", supplier, source)
    finals: Any = Topic("out", windowed(TEXT, windows), INT64)
    builder.add_sink("out", finals, results)
    refused: list[Any] = []
    builder.add_sink("late", to_function(refused.append), late)
    with TopologyTestDriver(builder.build(), recreate_processors=True) as driver:
        put(driver, [("a", 1, 12)])
        driver.close_windows()
        put(driver, [("a", 1, 11), ("a", 1, 30)])
        driver.close_windows()
        assert [value for _, value, _ in read(driver, finals)] == [1, 1]
        assert driver.dropped == {"late": 1}
    end = 20 if windows is TUMBLING else 11
    assert [(record.value.end_ms, record.timestamp) for record in refused] == [(end, 11)]
    assert refused[0].value.lateness_ms >= 0


@EXECUTIONS
def test_close_windows_releases_results_buffered_for_interval(execution: Any) -> None:
    driver, sink = driver_of(TUMBLING, every(minutes(1)), count(), execution, INT64)
    with driver:
        put(driver, [("z", 1, 0)])
        put(driver, [("a", 1, 1), ("a", 1, 2), ("b", 1, 3)])
        driver.read(sink)
        driver.close_windows()
        assert [(w.key, value) for w, value, _ in read(driver, sink)][:2] == [("a", 2), ("b", 1)]


def test_close_windows_releases_results_buffered_by_rate_limit() -> None:
    driver, sink = driver_of(TUMBLING, at_most_every(minutes(1)))
    with driver:
        put(driver, [("a", 1, 1), ("a", 2, 2)])
        driver.close_windows()
        assert [value for _, value, _ in read(driver, sink)] == [(1,), (1, 2)]


@EXECUTIONS
def test_on_close_emits_unlimited_window_when_run_closes_windows(execution: Any) -> None:
    driver, sink = driver_of(UnlimitedWindows(), on_close(), count(), execution, INT64)
    with driver:
        put(driver, [("a", 1, 1), ("b", 1, 2), ("a", 1, 3)])
        assert read(driver, sink) == []
        driver.close_windows()
        finals = [(window.key, value, time) for window, value, time in read(driver, sink)]
        assert finals == [("a", 2, 3), ("b", 1, 2)]
        put(driver, [("a", 1, 4), ("c", 1, 5)])
        driver.close_windows()
        assert (read(driver, sink), driver.dropped) == ([], {"late": 2})


@EXECUTIONS
def test_updates_of_unlimited_window_continue_after_close_windows(
    execution: Any,
) -> None:
    driver, sink = driver_of(UnlimitedWindows(), each_update(), count(), execution, INT64)
    with driver:
        put(driver, [("a", 1, 1)])
        driver.close_windows()
        put(driver, [("a", 1, 2)])
        assert [value for _, value, _ in read(driver, sink)] == [1, 2]
        assert driver.dropped == {}


@pytest.mark.parametrize("until", [until_window_closes(TUMBLING), until_time_limit(minutes(1))])
def test_close_windows_releases_suppressed_results(until: Any) -> None:
    builder = TopologyBuilder("t")
    source: Any = builder.add_source("in", SOURCE)
    supplier: Any = windowed_aggregate(TUMBLING, count(), store=store_for(TUMBLING, INT64))
    held: Any = buffer_store("held", key=windowed(TEXT, TUMBLING), value=INT64)
    finals: Any = suppress(until, store=held)
    sink: Any = Topic("out", windowed(TEXT, TUMBLING), INT64)
    counted = builder.add_processor("counts", supplier, source)
    builder.add_sink("out", sink, builder.add_processor("held", finals, counted))
    with TopologyTestDriver(builder.build()) as driver:
        put(driver, [("a", 1, 1), ("a", 1, 2)])
        assert driver.read(sink) == []
        driver.close_windows()
        assert [value for _, value, _ in read(driver, sink)] == [2]
        driver.close_windows()
        assert driver.read(sink) == []


def test_close_windows_closes_upstream_windows_before_downstream_ones() -> None:
    """Windows of counts of windows: final results of the first are in those of the second."""
    builder = TopologyBuilder("t")
    source: Any = builder.add_source("in", SOURCE)
    first: Any = windowed_aggregate(
        TUMBLING, count(), store=store_for(TUMBLING, INT64), emit=on_close()
    )
    counts: Any = builder.add_processor("first", first, source)
    inner = windowed(TEXT, TUMBLING)
    moved: Any = builder.repartition("edge", counts, key=inner, value=INT64)
    second: Any = windowed_aggregate(
        TumblingWindows(minutes(1)),
        sum_(INT64),
        store=window_store("sums", key=inner, value=INT64),
        emit=on_close(),
        execution="records",
    )
    sums: Any = builder.add_processor("second", second, moved)
    sink: Any = Topic("out", windowed(inner, TumblingWindows(minutes(1))), INT64)
    builder.add_sink("out", sink, sums)
    with TopologyTestDriver(builder.build(), partitions=2) as driver:
        put(driver, [("a", 1, 1), ("a", 1, 2), ("b", 1, 3)])
        driver.close_windows()
        found = sorted((r.key.key.key, r.value) for r in driver.read(sink))
        assert found == [("a", 2), ("b", 1)]
