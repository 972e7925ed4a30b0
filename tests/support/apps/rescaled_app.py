"""Topologies of all kinds of stores, and an app on embedded topics that get partitions."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kstreams import INT64, TEXT, FixedKeyProcessor, Record, Topic, Topology, TopologyBuilder
from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams.durations import milliseconds
from kstreams.emit import at_most_every, every, on_close, suppress, until_time_limit
from kstreams.operators import map_
from kstreams.partitioner import partition_of
from kstreams.processors import ProcessorContext
from kstreams.state.backend.working import StateBackend
from kstreams.stores import buffer_store, key_value_store, list_store, timestamped_store
from kstreams.streams import Streams
from kstreams.windows import (
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
)
from tests.support.apps.stepped_app import ByHand

__all__ = (
    "COUNTS",
    "EVENTS",
    "KEPT",
    "NUMBERS",
    "RESULTS",
    "TOPOLOGIES",
    "Event",
    "RescaledApp",
    "add_partitions",
    "counting",
    "hopping",
    "keeping",
    "keeping_by_value",
    "regrouping",
)

EVENTS = Topic("events", key=TEXT, value=INT64)
NUMBERS = Topic("numbers", key=TEXT, value=INT64)
RESULTS = Topic("results", key=TEXT, value=TEXT)
KEPT = list_store("kept", key=TEXT, value=INT64)
SEEN = key_value_store("seen", key=TEXT, value=INT64)
COUNTS = timestamped_store("count", key=TEXT, value=INT64)
FAR_MS = 1_000_000
"""The time of the records that close all windows."""
_MS = milliseconds

Event = tuple[str, str, int, int]
"""Topic, key, value and time (ms) of a record."""


class Keep(FixedKeyProcessor[str, Any, Any]):
    """Keeps the values of each key in a list, and counts them; forwards both."""

    def init(self, context: ProcessorContext[str, Any]) -> None:
        """Open the stores."""
        super().init(context)
        self.kept, self.seen = context.store(KEPT), context.store(SEEN)

    def process(self, record: Record[str, Any]) -> None:
        """Keep the value of a record."""
        key = record.key
        self.kept.append(key, record.value)
        self.seen.put(key, (self.seen.get(key) or 0) + 1)
        text = f"{list(self.kept.get(key))} {self.seen.get(key)}"
        self.context.forward(record.with_value(text))


class KeepValues(Keep):
    """Counts the values."""

    def init(self, context: ProcessorContext[str, Any]) -> None:
        """Open the store."""
        self.context, self.seen = context, context.store(SEEN)

    def process(self, record: Record[str, Any]) -> None:
        """Count the value of a record."""
        value = f"value {record.value}"
        self.seen.put(value, (self.seen.get(value) or 0) + 1)
        self.context.forward(record.with_value(value))


class Expiring(FixedKeyProcessor[str, Any, Any]):
    """Counts the records of each key, until the count expires."""

    def init(self, context: ProcessorContext[str, Any]) -> None:
        """Open the store."""
        super().init(context)
        self.seen = context.store(key_value_store("seen", key=TEXT, value=INT64, ttl=_MS(40)))

    def process(self, record: Record[str, Any]) -> None:
        """Count a record."""
        self.seen.put(record.key, (self.seen.get(record.key) or 0) + 1)
        self.context.forward(record.with_value(self.seen.get(record.key)))


def _shown(name: str, results: Any) -> None:
    """Send results to the topic of results, as text with the name of the operator."""
    stream = results.to_stream() if hasattr(results, "to_stream") else results
    stream.map(lambda key, value: (f"{key}", f"{name} {key} {value}"), key=TEXT, value=TEXT).to(
        RESULTS
    )


def _built(build: Callable[..., Mapping[str, Any]], *topics: Topic[str, int]) -> Topology:
    streams = Streams("app")
    for name, results in build(*map(streams.stream, topics)).items():
        _shown(name, results)
    return streams.build()


def counting(changelog: str | None = None, start: Any = "earliest") -> Topology:
    """Build a count by key."""
    streams = Streams("app")
    events = streams.stream(EVENTS, start=start)
    named = COUNTS if changelog is None else COUNTS.with_changelog(changelog)
    _shown("count", events.group_by_key().count(store=named))
    return streams.build()


def regrouping(partitions: int) -> Topology:
    """Build a count by key below an edge with this number of partitions."""
    streams = Streams("app")
    moved = streams.stream(EVENTS).repartition(partitions=partitions)
    _shown("count", moved.group_by_key().count())
    return streams.build()


def keeping_by_value() -> Topology:
    """Build a custom processor whose store has the values of records as keys."""
    return _built(
        lambda events: {"keep": events.process(KeepValues, value=TEXT, stores=[SEEN])}, EVENTS
    )


def keeping() -> Topology:
    """Build a custom processor with a list and a key-value store."""
    return _built(
        lambda events: {"keep": events.process(Keep, stores=[KEPT, SEEN], value=TEXT)},
        EVENTS,
    )


def _windows(events: Any) -> Mapping[str, Any]:
    grouped = events.group_by_key()
    tumbling = TumblingWindows(_MS(20), grace=_MS(500))
    return {
        "tumbling": grouped.windowed_by(tumbling, emit=on_close()).count(),
        "session": grouped.windowed_by(
            SessionWindows(_MS(9), grace=_MS(500)), emit=on_close()
        ).count(),
        "sliding": grouped.windowed_by(
            SlidingWindows(_MS(15), grace=_MS(500)), emit=on_close()
        ).count(),
    }


def _emissions(events: Any) -> Mapping[str, Any]:
    grouped = events.group_by_key()
    day = TumblingWindows(_MS(800), grace=_MS(500))
    return {
        "every": grouped.windowed_by(day, emit=every(_MS(5000))).count(store="every"),
        "paced": grouped.windowed_by(day, emit=at_most_every(_MS(5000))).count(store="paced"),
    }


def _joins(events: Any, numbers: Any) -> Mapping[str, Any]:
    near = numbers.within(_MS(30), grace=_MS(500))
    return {
        "inner": events.join(near, lambda one, other: f"{one} {other}", value=TEXT),
        "left": events.left_join(near, lambda one, other: f"{one} {other}", value=TEXT),
    }


def _tables(events: Any, numbers: Any) -> Mapping[str, Any]:
    totals, counts = numbers.group_by_key().count(), events.group_by_key().count()
    return {
        "tables": totals.outer_join(counts, lambda one, other: f"{one} {other}", value=TEXT),
        "groups": counts.group_by(lambda _, number: f"{number % 3}", key=TEXT).count(),
    }


def _as_of() -> Topology:
    """Build a join with the row at the time of the record: a queue and a versioned table."""
    streams = Streams("app")
    events = streams.stream(EVENTS)
    rates = streams.versioned_table(NUMBERS, history=_MS(100_000))
    joined = events.left_join(
        rates.as_of(grace=_MS(50)), lambda one, rate: f"{one} {rate}", value=TEXT
    )
    _shown("as-of", joined)
    return streams.build()


def _foreign() -> Topology:
    """Build a foreign-key join: subscriptions."""
    streams = Streams("app")
    left, right = streams.table(EVENTS), streams.table(NUMBERS)
    joined = left.join_by(
        right, lambda _, value: f"k{value}", lambda one, other: f"{one} {other}", value=TEXT
    )
    _shown("foreign", joined)
    return streams.build()


def _held() -> Topology:
    """Build operators that hold records back, or values that expire."""
    builder = TopologyBuilder("app")
    events = builder.add_source("events", EVENTS)
    held = buffer_store("held", key=TEXT, value=INT64)
    limit = until_time_limit(_MS(60))
    last = builder.add_processor("last", suppress(limit, store=held), events)
    expiring = key_value_store("seen", key=TEXT, value=INT64, ttl=_MS(40))
    once = builder.add_processor("once", Expiring, events, stores=[expiring])
    for name, node in (("last", last), ("once", once)):
        text = builder.add_processor(f"{name}-text", map_(partial(_text, name)), node)
        builder.add_sink(f"{name}-results", RESULTS, text)
    return builder.build()


def _text(name: str, key: str, value: object) -> tuple[str, str]:
    return key, f"{name} {key} {value}"


def hopping(hops: int) -> Topology:
    """Build a loop in which each record makes hops from key to key, one in each batch."""
    streams = Streams("app")
    again = streams.loop("again", key=TEXT, value=INT64)
    merged = streams.stream(EVENTS).merge(again)
    merged.filter(lambda _, left: left > 0).map(
        lambda key, left: (f"k{int(key[1:]) + 1}", left - 1), key=TEXT, value=INT64
    ).to(again)
    _shown("hop", merged.group_by_key().count())
    return streams.build()


TOPOLOGIES: Mapping[str, Callable[[], Topology]] = {
    "count": counting,
    "keep": keeping,
    "windows": lambda: _built(_windows, EVENTS),
    "emissions": lambda: _built(_emissions, EVENTS),
    "joins": lambda: _built(_joins, EVENTS, NUMBERS),
    "tables": lambda: _built(_tables, EVENTS, NUMBERS),
    "as-of": _as_of,
    "foreign": _foreign,
    "held": _held,
}


def add_partitions(topics: Path, topic: str, partitions: int) -> None:
    """Add partitions to an embedded topic, as `kafka-topics.sh --alter` does to a Kafka topic."""
    place = topics / topic / "topic.json"
    described = json.loads(place.read_text())
    for partition in range(described["partitions"], partitions):
        (topics / topic / str(partition)).mkdir()
        (topics / topic / ".staged" / str(partition)).mkdir()
    place.write_text(json.dumps({**described, "partitions": partitions}))


class RescaledApp:
    """An app on embedded topics whose number of partitions changes.

    Args:
        home: Directory of topics, checkpoint and local state.
        topology: The topology.
        partitions: The number of partitions of both source topics.
        state: Backend of the stores.
    """

    def __init__(
        self, home: Path, topology: Topology, partitions: int, state: StateBackend | None = None
    ) -> None:
        self.home, self.topology, self.partitions = home, topology, partitions
        self._state = state
        self.app = self.start()

    def start(self, rescale: RescaleSettings | None = None) -> ByHand:
        """Start the app, as after a stop or a kill."""
        topics = {node.topic.name for node in self.topology.sources}
        counts = {**dict.fromkeys(topics, self.partitions), "results": 2}
        self.app = ByHand(
            self.home,
            self.topology,
            partitions=counts,
            state=self._state,
            on_more_partitions=rescale or "refuse",
        )
        return self.app

    def run(self, records: Sequence[Event]) -> None:
        """Write records to the partitions of their keys, and run the app to the end."""
        self.write(records)
        self.app.run()

    def write(self, records: Sequence[Event]) -> None:
        """Write records to the partitions of their keys."""
        writer = self.app.connection.writer()
        known = {node.topic.name for node in self.topology.sources}
        for topic, key, value, time in records:
            if topic not in known:
                continue
            partition = partition_of(key.encode(), self.partitions)
            writer.write(topic, partition, key.encode(), INT64.serialize(value), time, ())
        writer.flush()
        writer.close()

    def rescale(self, partitions: int, settings: RescaleSettings | None = None) -> None:
        """Add partitions to the source topics, and start the app with them."""
        self.grow(partitions)
        self.start(settings or RescaleSettings(by_key=frozenset({"kept", "seen"})))

    def grow(self, partitions: int) -> None:
        """Add partitions to the source topics of the stopped app."""
        for topic in {node.topic.name for node in self.topology.sources}:
            add_partitions(self.home / "topics", topic, partitions)
        self.partitions = partitions

    def close_windows(self) -> None:
        """Write a record with a late time to each partition, so that all windows close."""
        keys: dict[int, str] = {}
        for number in range(1_000):
            keys.setdefault(partition_of(f"end{number}".encode(), self.partitions), f"end{number}")
        topics = [node.topic.name for node in self.topology.sources]
        for time in (FAR_MS, 2 * FAR_MS):
            self.run([(topic, key, 0, time) for topic in topics for key in keys.values()])

    def results(self) -> Counter[str]:
        """Return the results of all keys, except the keys that close windows."""
        found = self.app.values(RESULTS)
        return Counter(text for text in found if "end" not in text.split()[1])
