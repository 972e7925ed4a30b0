"""A record a thousand years ahead costs only the work for existing state.

Work for each skipped interval would exceed the time limit of the test.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kstreams import INT64, TEXT, FixedKeyProcessor, ProcessorContext, Record, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import days, milliseconds
from kstreams.emit import (
    at_most_every,
    each_update,
    every,
    on_close,
    once_per_batch,
    suppress,
    until_time_limit,
)
from kstreams.processors import PunctuationType
from kstreams.state.stores.buffer.kind import buffer_store
from kstreams.state.stores.window.kind import window_store
from kstreams.topic import Topic
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    windowed_aggregate,
)
from kstreams_testing.driver import TopologyTestDriver
from tests.support.windows.windowed_runs import SOURCE, run

pytestmark = pytest.mark.timeout(60)

FAR = 365_250 * 86_400_000
"""A thousand years, ms."""
TICK = milliseconds(1)
KINDS = (
    TumblingWindows(TICK),
    HoppingWindows(milliseconds(3), TICK),
    CalendarWindows("day", tz="Europe/Berlin"),
    SessionWindows(TICK),
    SlidingWindows(TICK),
)
EMISSIONS = (each_update(), once_per_batch(), on_close(), every(TICK), at_most_every(TICK))


@pytest.mark.parametrize("execution", ["records", "auto"])
@pytest.mark.parametrize("emit", EMISSIONS, ids=lambda emit: type(emit).__name__)
@pytest.mark.parametrize("windows", KINDS, ids=lambda windows: type(windows).__name__)
def test_windowed_aggregation_after_jump_of_time_does_no_work_for_empty_windows(
    windows: Any, emit: Any, execution: Any
) -> None:
    rows = [("a", 1, 5), ("b", 1, 6), ("a", 1, FAR), ("a", 1, FAR + 2 * 86_400_000)]
    batches, dropped, _ = run(windows, emit, rows, (1, 3), count(), execution)
    assert sum(map(len, batches)) >= 3
    assert dropped == {}


class Ticks(FixedKeyProcessor[str, int, int]):
    """Schedules calls every millisecond, by both clocks."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        for kind in PunctuationType:
            context.schedule(TICK, kind, lambda now: context.forward(Record("tick", now, now)))

    def process(self, record: Record[str, int]) -> None: ...


def test_punctuators_and_idle_timeout_after_jump_of_time_fire_once() -> None:
    builder = TopologyBuilder("ticks", idle_timeout=TICK)
    ticks = builder.add_processor("ticks", Ticks, builder.add_source("in", SOURCE))
    out = Topic("out", TEXT, INT64)
    builder.add_sink("out", out, ticks)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=1)
        driver.pipe(SOURCE, "a", 1, timestamp=FAR)
        driver.advance_wall_clock(days(365_250))
        assert len(driver.read(out)) <= 6


def test_suppress_after_jump_of_time_does_no_work_for_empty_time() -> None:
    builder = TopologyBuilder("held")
    store = buffer_store("held", key=TEXT, value=INT64)
    supplier = suppress(until_time_limit(TICK), store=store)
    held = builder.add_processor("held", supplier, builder.add_source("in", SOURCE))
    out = Topic("out", TEXT, INT64)
    builder.add_sink("out", out, held)
    with TopologyTestDriver(builder.build()) as driver:
        driver.pipe(SOURCE, "a", 1, timestamp=1)
        driver.pipe(SOURCE, "b", 1, timestamp=FAR)
        assert [record.key for record in driver.read(out)] == ["a"]


def test_fetch_of_long_time_range_reads_only_existing_windows() -> None:
    windows = TumblingWindows(TICK, grace=timedelta(days=365_250))
    spec = window_store("state", key=TEXT, value=count().state)
    builder = TopologyBuilder("t")
    supplier: Any = windowed_aggregate(windows, count(), store=spec)
    builder.add_processor("windows", supplier, builder.add_source("in", SOURCE))
    with TopologyTestDriver(builder.build()) as driver:
        for time in (1, FAR):
            driver.pipe(SOURCE, "a", 1, timestamp=time)
        store = driver.store(spec)
        assert len(list(store.fetch_range("a", "b", 0, FAR + 1))) == 2
        assert len(list(store.fetch("a", 0, FAR + 1))) == 2
