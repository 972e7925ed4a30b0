"""Topologies for tests of explanations."""

from __future__ import annotations

import random
from typing import Any

from kstreams import (
    INT64,
    NONE,
    TEXT,
    FixedKeyProcessor,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    flat_map,
    map_values,
)
from kstreams.aggregators import count
from kstreams.durations import milliseconds
from kstreams.joins import inner
from kstreams.operators import call_external, peek
from kstreams.stores import key_value_store, session_store, timestamped_store, window_store
from kstreams.topology import CallSite
from kstreams.windows import SessionWindows, TumblingWindows, windowed_aggregate

LINES = Topic("lines", key=TEXT, value=TEXT)
EVENTS = Topic("events", key=TEXT, value=INT64)
LEFT = Topic("left", key=TEXT, value=INT64, nulls="pass")
RIGHT = Topic("right", key=TEXT, value=INT64, nulls="pass")
TOTALS = Topic("totals", key=TEXT, value=INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)
WINDOWS = window_store("windows", key=TEXT, value=INT64)
SESSIONS = session_store("sessions", key=TEXT, value=INT64)
LEFTS = timestamped_store("lefts", key=TEXT, value=INT64)
RIGHTS = timestamped_store("rights", key=TEXT, value=INT64)
JOINED = timestamped_store("joined", key=TEXT, value=INT64)


class Count(FixedKeyProcessor[str, Any, int]):
    """Counts records by key; fails for `boom`."""

    def init(self, context: Any) -> None:
        """Open the store."""
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record: Record[str, Any]) -> None:
        """Count."""
        self.counts.put(record.key, (self.counts.get(record.key) or 0) + 1)
        if record.key == "boom":
            raise RuntimeError("boom is not countable")
        if record.key == "odd":
            self.context.drop("odd-word")
        self.context.forward(record.with_value(self.counts.get(record.key)))


class Guess(Count):
    """Counts with random results."""

    def process(self, record: Record[str, Any]) -> None:
        """Store a random value."""
        self.counts.put(record.key, random.getrandbits(60))


def words(processor: type[Count] = Count, seen: list[object] | None = None) -> Topology:
    """Return a topology that splits lines into words, repartitions by word, and counts words."""
    builder = TopologyBuilder("words", on_error="skip")
    node = builder.add_source("lines", LINES)
    if seen is not None:
        node = builder.add_processor("look", peek(lambda *pair: seen.append(pair)), node)

    def split_line(_: str, line: str) -> list[tuple[str, None]]:
        return [(word, None) for word in line.split()]

    with builder.origin(CallSite("[red]words[/].py", 12)):
        each = builder.add_processor("split", flat_map(split_line), node)
    each = builder.repartition("by-word", each, key=TEXT, value=NONE)
    with builder.origin(CallSite("[red]words[/].py", 14)):
        total = builder.add_processor("count", processor, each, stores=[COUNTS])
    builder.add_sink("totals", TOTALS, total)
    return builder.build()


def tumbling() -> Topology:
    """Count events by windows of 100 ms."""
    builder = TopologyBuilder("tumbling")
    events = builder.add_source("events", EVENTS)
    total = windowed_aggregate(
        TumblingWindows(milliseconds(100), grace=milliseconds(100)), count(), store=WINDOWS
    )
    builder.add_processor("count", total, events)
    return builder.build()


def sessions() -> Topology:
    """Count events by sessions that end after 50 ms."""
    builder = TopologyBuilder("sessions")
    events = builder.add_source("events", EVENTS)
    total = windowed_aggregate(
        SessionWindows(milliseconds(50), grace=milliseconds(500)), count(), store=SESSIONS
    )
    builder.add_processor("count", total, events)
    return builder.build()


def joined() -> Topology:
    """Join two tables into a third."""
    builder = TopologyBuilder("joined")
    left = builder.add_table("left", LEFT, store=LEFTS)
    right = builder.add_table("right", RIGHT, store=RIGHTS)
    builder.join_tables("both", left, right, inner(lambda a, b: 100 * a + b), store=JOINED)
    return builder.build()


def asking(calls: list[object]) -> Topology:
    """Call an external service for each event, and count."""
    builder = TopologyBuilder("asking")
    node = builder.add_source("events", EVENTS)

    def ask(record: Record[str, int]) -> int:
        calls.append(record.key)
        return record.value + 1

    node = builder.add_processor("ask", call_external(ask), node)
    node = builder.add_processor("some", filter_(lambda _, value: value > 1), node)
    builder.add_processor("count", Count, node, stores=[COUNTS])
    return builder.build()


def doubled() -> Topology:
    """Count doubled events, without a repartition."""
    builder = TopologyBuilder("doubled")
    node = builder.add_source("events", EVENTS)
    node = builder.add_processor("double", map_values(lambda value: 2 * value), node)
    builder.add_processor("count", Count, node, stores=[COUNTS])
    return builder.build()
