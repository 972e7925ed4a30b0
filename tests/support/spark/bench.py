"""Topics, processors and a `Bench` shared by the tests of apps on Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from kstreams import (
    DOUBLE,
    INT64,
    TEXT,
    App,
    Embedded,
    Emitter,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.app import BatchReport
from kstreams.checkpoint.checkpoint import Checkpoint, query_name
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.connection import RawRecord
from kstreams.errors import KStreamsError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit, CommitLog
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.spec import StoreSpec

K = TypeVar("K")
"""Type of keys."""
V = TypeVar("V")
"""Type of values."""

WORDS = Topic("words", TEXT, TEXT)
TOTALS = Topic("totals", TEXT, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)
HALVES = key_value_store("counts", key=TEXT, value=DOUBLE)
LOGGED = COUNTS.with_changelog("counts-log")


class Count(FixedKeyProcessor[str, str, int]):
    """Running count of each key."""

    spec = COUNTS

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(self.spec)

    def process(self, record: Record[str, str]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


class LoggedCount(Count):
    """Running count of each key, in a store with a changelog."""

    spec = LOGGED


class HalfCount(FixedKeyProcessor[str, str, int]):
    """Counts in halves, in the next version of the store."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(HALVES)

    def process(self, record: Record[str, str]) -> None:
        total = (self.counts.get(record.key) or 0.0) + 0.5
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(int(2 * total)))


def counting(
    counter: Callable[[], FixedKeyProcessor[str, str, int]] = Count,
    *,
    store: StoreSpec[Any] = COUNTS,
    totals: Topic[str, int] = TOTALS,
) -> Topology:
    """Return a topology: words -> count -> totals."""
    builder = TopologyBuilder("counting")
    words = builder.add_source("words", WORDS)
    builder.add_sink(
        "totals", totals, builder.add_processor("count", counter, words, stores=[store])
    )
    return builder.build()


class Bench:
    """Topics, a checkpoint and local state in one directory, and apps that use them.

    Args:
        home: The directory.
        spark: The session of apps; without one, they use the embedded engine.
    """

    def __init__(self, home: Path, spark: SparkSession | None) -> None:
        self.home = home
        self.spark = spark
        self.engine: dict[str, Any] = {"engine": "embedded"} if spark is None else {"spark": spark}
        self.connection = Embedded(home / "topics", durable=False)
        self.checkpoint = home / "checkpoint"
        self.reports: list[BatchReport] = []
        self._apps: list[App] = []

    def create(self, *topics: Topic[Any, Any], partitions: int = 2) -> None:
        for topic in topics:
            self.connection.admin().create(topic.name, partitions)

    def emit(self, topic: Topic[K, V], records: Iterable[tuple[K, V] | Record[K, V]]) -> None:
        with Emitter(topic, self.connection) as emitter:
            emitter.emit_many(records)

    def app(self, topology: Topology, **options: Any) -> App:
        """Create an app that is closed at the end of the test."""
        given: dict[str, Any] = {
            "checkpoint": self.checkpoint,
            **self.engine,
            "trigger": timedelta(0),
            "parallelism": 2,
            "on_batch": self.reports.append,
            **options,
        }
        app = App(topology, self.connection, **given)
        self._apps.append(app)
        return app

    def run(self, topology: Topology, **options: Any) -> None:
        """Run a new app to the end."""
        self.app(topology, **options).run(until="end", timeout=timedelta(seconds=90))

    def raw(self, topic: Topic[Any, Any] | str) -> list[RawRecord]:
        """Return a topic's records, partition by partition in offset order."""
        name = topic if isinstance(topic, str) else topic.name
        reader = self.connection.reader()
        ends = self.connection.admin().end_offsets(name)
        return [
            record for p, end in sorted(ends.items()) for record in reader.read(name, p, 0, end)
        ]

    def records(self, topic: Topic[K, V]) -> list[tuple[K, V]]:
        """Return a topic's decoded keys and values, partition by partition."""
        return [
            (topic.key.deserialize(record.key or b""), topic.value.deserialize(record.value or b""))
            for record in self.raw(topic)
        ]

    def commits(self, topology: Topology, query: int = 0) -> CommitLog:
        """Open the commit log of a query."""
        name = query_name(topology.pipelines()[query])
        log = home_of(self.checkpoint).log
        return Checkpoint.load(home_of(self.checkpoint)).commits(name, log.open())

    def last_commit(self, topology: Topology, query: int = 0) -> Commit:
        found = self.commits(topology, query).last()
        assert found is not None
        return found

    def store(self, topology: Topology, spec: StoreSpec[Any], app: str = "") -> dict[Any, Any]:
        """Return the contents of a key-value store over all tasks, as of the last commit."""
        group = topology.group_of_store(spec.name)
        query = next(n for n, groups in enumerate(topology.pipelines()) if group in groups)
        found: dict[Any, Any] = {}
        for task, text in self.last_commit(topology, query).tasks.items():
            if task.group != group.name:
                continue
            pointer = Pointer.from_json(text)
            store = MemoryStore(sorted({*pointer.stores, spec.name}))
            state_name = Checkpoint.load(home_of(self.checkpoint)).state_name(
                query_name(topology.pipelines()[query])
            )
            key = TaskKey(state_name, *task)
            DurableLog(home_of(self.checkpoint).log.open(), key).restore(pointer, store)
            found.update(spec.open(Overlay(store)).range())
        return found

    def close(self) -> None:
        for app in self._apps:
            try:
                app.close()
            except KStreamsError:  # the failure under test
                continue


def last_values(records: Iterable[tuple[K, V]]) -> dict[K, V]:
    """Return the last value of each key."""
    return dict(records)


def expected_totals(words: Iterable[tuple[str, str]]) -> Counter[tuple[str, int]]:
    """Return the expected output of the counting topology, each result once, in any order."""
    counts: Counter[str] = Counter()
    results: Counter[tuple[str, int]] = Counter()
    for key, _ in words:
        counts[key] += 1
        results[key, counts[key]] += 1
    return results


def sums(reports: Iterable[BatchReport]) -> Mapping[str, int]:
    """Return the sums of dropped records by reason."""
    found: Counter[str] = Counter()
    for report in reports:
        found.update(report.dropped)
    return found
