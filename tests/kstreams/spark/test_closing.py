"""Windows close on Spark without new records, by an idle timeout and at the end of a run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from kstreams import INT64, TEXT, App, Record, Topic, Topology, TopologyBuilder, rekey
from kstreams.aggregators import count, sum_
from kstreams.durations import seconds
from kstreams.emit import on_close, suppress, until_time_limit
from kstreams.errors import CompileError, LateResultsWarning
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.window.kind import window_store
from kstreams.testing import FakeClock
from kstreams.windows import (
    TumblingWindows,
    UnlimitedWindows,
    Windowed,
    windowed,
    windowed_aggregate,
)
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

NUMBERS = Topic("numbers", TEXT, INT64)
WINDOWS = TumblingWindows(seconds(10))
FINALS: Any = Topic("finals", windowed(TEXT, WINDOWS), INT64)
SUMS: Any = Topic("sums", windowed(TEXT, WINDOWS), INT64)


def topology() -> Topology:
    """Count by columns, and sum the final counts by records after a repartition."""
    builder = TopologyBuilder("closing", idle_timeout=seconds(1))
    counts = window_store("counts", key=TEXT, value=INT64)
    counted = builder.add_processor(
        "counts",
        windowed_aggregate(WINDOWS, count(), store=counts, emit=on_close(), execution="columns"),
        builder.add_source("numbers", NUMBERS),
    )
    builder.add_sink("to-finals", FINALS, counted)
    everything = builder.add_processor("all", rekey(_all), counted)
    moved = builder.repartition("edge", everything, key=TEXT, value=INT64)
    totals = window_store("sums", key=TEXT, value=INT64)
    summed = builder.add_processor(
        "sums",
        windowed_aggregate(
            WINDOWS, sum_(INT64), store=totals, emit=on_close(), execution="records"
        ),
        moved,
    )
    builder.add_sink("to-sums", SUMS, summed)
    with pytest.warns(LateResultsWarning, match="without a grace"):
        return builder.build()


def _all(key: Windowed[str], value: int) -> str:
    return "all"


def results(bench: Bench, topic: Any) -> list[tuple[str, int, int]]:
    found = bench.records(topic) if topic.name in bench.connection.admin().topics() else []
    return sorted((window.key, window.start_ms, value) for window, value in found)


def test_idle_timeout_closes_windows_without_new_records(bench: Bench) -> None:
    bench.create(NUMBERS)
    clock = FakeClock(1_000_000)
    with bench.app(topology(), clock=clock) as app:
        app.open()
        bench.emit(NUMBERS, [Record(key, 1, 4_000) for key in "aab"])
        app.drain()
        clock.advance(timedelta(milliseconds=999))
        app.drain()
        assert results(bench, FINALS) == []
    clock.advance(timedelta(hours=1))
    with bench.app(topology(), clock=clock) as app:
        app.open()
        app.drain()
        clock.advance(timedelta(milliseconds=999))
        app.drain()
        assert results(bench, FINALS) == []
        clock.advance(timedelta(seconds=6))
        app.drain()
        assert results(bench, FINALS) == [("a", 0, 2), ("b", 0, 1)]
        assert results(bench, SUMS) == []
        clock.advance(timedelta(seconds=9))
        app.drain()
        assert results(bench, SUMS) == [("all", 0, 3)]
        bench.emit(NUMBERS, [Record("a", 1, 45_000)])
        app.drain(close_windows=True)
        assert results(bench, FINALS)[1:] == [("a", 40_000, 1), ("b", 0, 1)]
        assert results(bench, SUMS) == [("all", 0, 3), ("all", 40_000, 1)]
    with bench.app(topology(), clock=clock) as app:
        bench.emit(NUMBERS, [Record("a", 1, 46_000), Record("a", 1, 50_000)])
        app.run(until="end", close_windows=True)
    assert ("a", 50_000, 1) in results(bench, FINALS)
    assert len(results(bench, FINALS)) == 4
    assert sum(report.dropped.get("late", 0) for report in bench.reports) == 1


def test_close_windows_without_until_end_is_rejected(bench: Bench) -> None:
    bench.create(NUMBERS)
    with pytest.raises(CompileError, match="close_windows"):
        bench.app(topology()).run(close_windows=True)


RELEASED = Topic("released", TEXT, INT64)
EVER: Any = Topic("ever", windowed(TEXT, UnlimitedWindows()), INT64)


def suppressing() -> Topology:
    """Hold numbers back for 10 ms, and count them in a window without an end."""
    builder = TopologyBuilder("suppressing", idle_timeout=seconds(1))
    numbers = builder.add_source("numbers", NUMBERS)
    until = suppress(
        until_time_limit(timedelta(milliseconds=10)),
        store=buffer_store("held", key=TEXT, value=INT64),
    )
    builder.add_sink("to-released", RELEASED, builder.add_processor("held", until, numbers))
    store = window_store("ever", key=TEXT, value=INT64)
    counting = windowed_aggregate(UnlimitedWindows(), count(), store=store, emit=on_close())
    builder.add_sink("to-ever", EVER, builder.add_processor("ever", counting, numbers))
    return builder.build()


def test_suppressed_records_are_released_when_due_and_unlimited_windows_at_end(
    bench: Bench,
) -> None:
    bench.create(NUMBERS)
    clock = FakeClock(1_000_000)
    with bench.app(suppressing(), clock=clock) as app:
        app.open()
        bench.emit(NUMBERS, [Record("a", 1, 4_000)])
        app.drain()
        bench.emit(NUMBERS, [Record("a", 2, 4_000), Record("b", 1, 3_900)])
        app.drain()
        bench.emit(NUMBERS, [Record("b", 2, 3_800)])
        app.drain()
        released = bench.records(RELEASED)
        assert [pair for pair in released if pair[0] == "b"] == [("b", 1), ("b", 2)]
        clock.advance(seconds(1))
        app.drain()
        assert bench.records(RELEASED).count(("a", 2)) == 1
        app.drain(close_windows=True)
        assert results(bench, EVER) == [("a", 0, 2), ("b", 0, 2)]


def test_app_rejects_unlimited_windows_on_close_unless_it_closes_windows(bench: Bench) -> None:
    bench.create(NUMBERS)
    runs: list[Callable[[App], None]] = [
        App.run,
        lambda app: app.run(until="end"),
        App.start,
    ]
    for run in runs:
        with pytest.raises(CompileError, match=r"node 'ever' forwards.*\nHint:.*close_windows"):
            run(bench.app(suppressing()))
    bench.emit(NUMBERS, [Record("a", 1, 4_000)])
    bench.app(suppressing()).run(until="end", close_windows=True)
    assert results(bench, EVER) == [("a", 0, 1)]
