"""Hostile times and clocks stop no app and delay no later record."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kstreams import (
    BYTES,
    INT64,
    TEXT,
    DeadLetter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.emit import on_close
from kstreams.processors import PunctuationType
from kstreams.stores import session_store
from kstreams.testing import FakeClock
from kstreams.windows import SessionWindows, windowed, windowed_aggregate
from tests.support.spark.bench import COUNTS, TOTALS, WORDS, Bench, sums

pytestmark = pytest.mark.spark

SESSIONS = SessionWindows(seconds(1))
STORE = session_store("sessions", key=TEXT, value=INT64)
RESULTS = Topic("results", windowed(TEXT, SESSIONS), INT64, nulls="pass")
LETTERS = Topic("letters", BYTES, BYTES)


def counted_sessions() -> Topology:
    builder = TopologyBuilder("sessions", on_error=DeadLetter("letters"))
    words = builder.add_source("words", WORDS)
    supplier: Any = windowed_aggregate(SESSIONS, count(), store=STORE, emit=on_close())
    builder.add_sink("results", RESULTS, builder.add_processor("count", supplier, words))
    return builder.build()


def test_invalid_times_become_dead_letters_and_later_records_are_not_late(bench: Bench) -> None:
    bench.create(WORDS, partitions=1)
    bench.create(RESULTS, LETTERS, partitions=1)
    hostile = [Record("a", "x", time) for time in (1_000, (1 << 63) - 1, 1 << 62)]
    bench.emit(WORDS, hostile)
    bench.run(counted_sessions())
    bench.emit(WORDS, [Record("a", "x", 1_500), Record("a", "x", 9_000)])
    bench.run(counted_sessions())
    assert [(str(key), value) for key, value in bench.records(RESULTS)] == [("a@1000/1500", 2)]
    assert len(bench.raw(LETTERS)) == 2
    assert sums(bench.reports) == {"dead-letter-EventTimeError": 2}


class Ticks(FixedKeyProcessor[str, str, int]):
    """Forwards the number of calls by the wall clock."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)
        context.schedule(timedelta(minutes=1), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def tick(self, now: int) -> None:
        count = (self.counts.get("ticks") or 0) + 1
        self.counts.put("ticks", count)
        self.context.forward(Record("ticks", count, now))

    def process(self, record: Record[str, str]) -> None:
        pass


def ticking() -> Topology:
    builder = TopologyBuilder("ticking")
    words = builder.add_source("words", WORDS)
    ticks = builder.add_processor("ticks", Ticks, words, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, ticks)
    return builder.build()


@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_clock_that_was_ten_years_ahead_does_not_disable_punctuator(
    bench: Bench, restarted: bool
) -> None:
    bench.create(WORDS, partitions=1)
    bench.create(TOTALS, partitions=1)
    clock, ahead = FakeClock(1_000), timedelta(days=3653)
    app = bench.app(ticking(), clock=clock)
    app.open()
    app.drain()
    clock.jump(ahead)
    app.drain()
    if restarted:
        app.close()
        app = bench.app(ticking(), clock=clock)
        app.open()
    clock.jump(-ahead)
    app.drain()
    assert bench.records(TOTALS) == [("ticks", 1)]
    clock.advance(timedelta(minutes=1))
    app.drain()
    assert bench.records(TOTALS) == [("ticks", 1), ("ticks", 2)]
