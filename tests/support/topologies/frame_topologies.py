"""Topologies that the tests run on DataFrames."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kstreams import BYTES, INT64, TEXT, Record, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close
from kstreams.joins import left
from kstreams.operators import aggregate, filter_, flat_map, rekey
from kstreams.processors import Processor, ProcessorContext, PunctuationType
from kstreams.stores import key_value_store, timestamped_store, window_store
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

LINES = Topic("lines", BYTES, TEXT)
WORDS = Topic("words", TEXT, TEXT)
COUNTS = Topic("counts", TEXT, INT64)
TUMBLING = TumblingWindows(milliseconds(10))
CLOSED = Topic("closed", windowed(TEXT, TUMBLING), INT64)
RELEASED = Topic("released", TEXT, TEXT)
KINDS = Topic("kinds", TEXT, TEXT)
BY_WINDOW = window_store("by-window", key=TEXT, value=INT64)
TOTALS = timestamped_store("totals", key=TEXT, value=INT64)
TICKS = key_value_store("ticks", key=TEXT, value=INT64)


@dataclass(frozen=True)
class Split:
    """Splits lines into words; appends the key of each line to a file, if given."""

    log: Path | None = None

    def __call__(self, key: bytes, line: str) -> list[tuple[str, str]]:
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{key.decode()}\n")
        return [(word, word) for word in line.split()]


def word_count(fails: Path | None = None, *, log: Path | None = None) -> Topology:
    """Return a topology of two groups: lines -> words, and over a repartition to counts.

    Args:
        fails: A file with the word at which the second group fails, while the file exists.
        log: The file that receives the keys of processed lines.
    """
    builder = TopologyBuilder("word-count")
    words = builder.add_processor("split", flat_map(Split(log)), builder.add_source("lines", LINES))
    builder.add_sink("words", WORDS, words)
    words = builder.repartition("by-word", words, key=TEXT, value=TEXT)
    words = builder.add_processor("check", filter_(_passing(fails)), words)
    totals = builder.add_processor(
        "count", aggregate(count(), store=TOTALS, emit=each_update()), words
    )
    builder.add_sink("counts", COUNTS, totals)
    return builder.build()


def _passing(fails: Path | None) -> Callable[[str, str], bool]:
    def check(word: str, _: str) -> bool:
        if fails is not None and fails.exists() and fails.read_text() == word:
            raise ValueError(f"{word} fails")
        return True

    return check


def windowed_count() -> Topology:
    """Return a topology: words -> counts by key and window, emitted once when the window closes."""
    builder = TopologyBuilder("windowed-count")
    count_all = windowed_aggregate(TUMBLING, count(), store=BY_WINDOW, emit=on_close())
    words = builder.add_source("words", WORDS)
    builder.add_sink("closed", CLOSED, builder.add_processor("count", count_all, words))
    return builder.build()


def joined_count() -> Topology:
    """Return a topology: words, joined with a table of kinds -> final counts by kind and window."""
    builder = TopologyBuilder("joined-count")
    kinds = builder.add_table(
        "kinds", KINDS, store=timestamped_store("kinds", key=TEXT, value=TEXT)
    )
    words = builder.add_source("words", WORDS)
    words = builder.join_table("kind", words, kinds, left(lambda word, kind: kind or "none"))
    words = builder.add_processor("by-kind", rekey(lambda _, kind: kind), words)
    words = builder.repartition("kind-edge", words, key=TEXT, value=TEXT)
    count_all = windowed_aggregate(TUMBLING, count(), store=BY_WINDOW, emit=on_close())
    builder.add_sink("closed", CLOSED, builder.add_processor("count", count_all, words))
    return builder.build()


class Tick(Processor[str, str, str, int]):
    """Counts the calls of a wall-clock punctuator, and forwards the count at each call."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.ticks = context, context.store(TICKS)
        context.schedule(milliseconds(100), PunctuationType.WALL_CLOCK_TIME, self.tick)

    def process(self, record: Record[str, str]) -> None:
        """Do nothing."""

    def tick(self, now_ms: int) -> None:
        name = f"task {self.context.task.partition}"
        count = (self.ticks.get(name) or 0) + 1
        self.ticks.put(name, count)
        self.context.forward(Record(name, count, now_ms))


def ticking() -> Topology:
    """Return a topology of a source and a `Tick` processor, which counts calls per task."""
    builder = TopologyBuilder("ticking")
    words = builder.add_source("words", WORDS)
    builder.add_sink("counts", COUNTS, builder.add_processor("tick", Tick, words, stores=[TICKS]))
    return builder.build()
