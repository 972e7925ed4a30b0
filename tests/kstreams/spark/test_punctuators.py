"""Punctuators on Spark, by stream time and by wall clock."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.processors import PunctuationType
from kstreams.testing import FakeClock
from tests.kstreams.spark.running_sum import NUMBERS
from tests.support.spark.bench import Bench

pytestmark = pytest.mark.spark

TICKS = Topic("ticks", TEXT, INT64)


class Tick(FixedKeyProcessor[str, int, int]):
    """Forwards the time at each tick of its clock."""

    def __init__(self, clock: PunctuationType) -> None:
        self.clock = clock

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context = context
        context.schedule(timedelta(seconds=1), self.clock, self.tick)

    def tick(self, now: int) -> None:
        self.context.forward(Record(str(self.context.task.partition), now, now))

    def process(self, record: Record[str, int]) -> None:
        pass


def ticking(clock: PunctuationType) -> Topology:
    builder = TopologyBuilder("ticking")
    ticks = builder.add_processor(
        "tick", lambda: Tick(clock), builder.add_source("numbers", NUMBERS)
    )
    builder.add_sink("ticks", TICKS, ticks)
    return builder.build()


def test_stream_time_punctuator_fires_only_with_records(bench: Bench) -> None:
    bench.create(NUMBERS, partitions=1)
    topology = ticking(PunctuationType.STREAM_TIME)
    with bench.app(topology) as app:
        app.open()
        bench.emit(NUMBERS, [Record("a", 0, 100), Record("a", 0, 2_500)])
        app.drain()
    bench.emit(NUMBERS, [Record("a", 0, 2_900), Record("a", 0, 3_000)])
    bench.run(topology)
    assert bench.records(TICKS) == [("0", 100), ("0", 2_500), ("0", 3_000)]


def test_wall_clock_punctuator_fires_without_input_and_after_restart(bench: Bench) -> None:
    bench.create(NUMBERS, partitions=2)
    topology = ticking(PunctuationType.WALL_CLOCK_TIME)
    clock = FakeClock(10_000)
    with bench.app(topology, clock=clock) as app:
        app.open()
        app.drain()
        clock.advance(timedelta(milliseconds=999))
        app.drain()
        assert TICKS.name not in bench.connection.admin().topics()
        clock.advance(timedelta(milliseconds=1))
        app.drain()
        app.drain()
        assert sorted(bench.records(TICKS)) == [("0", 11_000), ("1", 11_000)]
    clock.advance(timedelta(milliseconds=2_500))
    with bench.app(topology, clock=clock) as app:
        app.open()
        app.drain()
        assert sorted(bench.records(TICKS))[1::2] == [("0", 13_500), ("1", 13_500)]
        clock.advance(timedelta(milliseconds=500))
        app.drain()
    assert len(bench.records(TICKS)) == 6
    assert all(report.source_records == 0 for report in bench.reports)


# ------------------------------------------------------------------- sinks
