"""Topologies run by the tests of the test driver."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kstreams import (
    INT64,
    NONE,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
)
from kstreams.processors import PunctuationType
from kstreams.processors.flat_map import flat_map
from kstreams.state.stores.key_value.kind import key_value_store

LINES = Topic("lines", NONE, TEXT)


WORDS = Topic("words", TEXT, INT64)


TOTALS = Topic("totals", TEXT, INT64)


COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class Count(FixedKeyProcessor[str, Any, int]):
    """Running count of each key."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)

    def process(self, record: Record[str, Any]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


def words_of(_: None, line: str) -> list[tuple[str, None]]:
    return [(word, None) for word in line.split()]


def word_count() -> Topology:
    builder = TopologyBuilder("word-count")
    lines = builder.add_source("lines", LINES)
    words = builder.add_processor("split", flat_map(words_of), lines)
    moved = builder.repartition("by-word", words, key=TEXT, value=NONE)
    totals = builder.add_processor("count", Count, moved, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, totals)
    return builder.build()


def counting(supplier: Any = Count, **options: Any) -> Topology:
    builder = TopologyBuilder("counting", **options)
    counted = builder.add_processor(
        "count", supplier, builder.add_source("words", WORDS), stores=[COUNTS]
    )
    builder.add_sink("totals", TOTALS, counted)
    return builder.build()


class Ticking(FixedKeyProcessor[str, int, int]):
    """Forwards the wall time every minute."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        context.schedule(timedelta(minutes=1), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def tick(self, now: int) -> None:
        name = f"tick-{self.context.task.partition}"
        self.context.forward(Record(name, self.context.wall_time, now))

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record)


class Forgetful(FixedKeyProcessor[str, Any, int]):
    """A faulty processor that keeps its count in an attribute."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.total = 0

    def process(self, record: Record[str, Any]) -> None:
        self.total += 1
        self.context.forward(record.with_value(self.total))
