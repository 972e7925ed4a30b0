"""Replacements of a query's output, which keep results in files instead of writing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from typing_extensions import override

from kstreams.batch.io.feed import Feed
from kstreams.batch.io.source_positions import SourcePositions
from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.connection import TopicEnds
from kstreams.graph.nodes import FunctionSink, SinkNode, SourceNode, StdoutSink
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.raw_batch import NO_LIMIT
from kstreams.record import Record
from kstreams.sink import CommitId, Guarantee, Results, Sink
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import TopicLimits
from kstreams_shadow.result_files import ResultFiles, ResultSource

__all__ = ("HeldBackFeed", "HeldBackIO", "HeldBackSink", "held_back_group")


@dataclass(frozen=True)
class HeldBackIO(TopicIO):
    """A `TopicIO` that reads topics, and writes results to files.

    Attributes:
        topics: The `TopicIO` that `read` and `limits` use.
        folder: The folder of the query's results.
    """

    topics: TopicIO
    folder: Path

    @override
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        return self.topics.read(slices, max_bytes=max_bytes)

    @override
    def limits(self, topic: str) -> TopicLimits:
        return self.topics.limits(topic)

    @override
    def write(self, output: TaskOutput, group: PartitionGroup, batch: BatchId) -> tuple[()]:
        files = ResultFiles(self.folder)
        parts = {"sink": output.sinks, "dead letters": output.dead_letters}
        for kind, tables in parts.items():
            for name, table in tables.items():
                source = ResultSource(kind, name, group.name, output.partition)
                files.write(batch.batch, source, table)
        return ()


class HeldBackFeed:
    """A `Feed` that reads the sources of another feed, and publishes nothing.

    Args:
        feed: The other feed, which is closed with this one.
        folder: The folder of the query's results.
    """

    def __init__(self, feed: Feed, folder: Path) -> None:
        self._feed = feed
        self.io = HeldBackIO(feed.io, folder)

    @property
    def admin(self) -> SourcePositions:
        """The start and end positions of the sources."""
        return self._feed.admin

    def known_ends(self, topic: str) -> TopicEnds:
        """Return the id and the end of a source."""
        return self._feed.known_ends(topic)

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        """Divide the records of a source's partition into slices."""
        return self._feed.slices(node, partition, start, stop)

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:
        """Return the mean bytes of a partition's records at an offset."""
        return self._feed.mean_bytes(place, offset)

    def prepare(self, publisher: str, topic: str, last: Commit | None) -> None:
        """Do nothing, because nothing is published."""

    def publish(self, commit: Commit, objects: ObjectStore, check: Callable[[], None]) -> None:
        """Do nothing, because results are held back."""

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        """Do nothing, because a replica writes no results to topics."""

    def close(self) -> None:
        """Close the other feed."""
        self._feed.close()


@dataclass(frozen=True)
class HeldBackSink:
    """A sink whose writer keeps results in files.

    Attributes:
        label: The label of the replaced sink.
        folder: The folder of the query's results.
        group: The name of the sink's partition group.
        guarantee: A repeated batch replaces its files.
    """

    label: str
    folder: Path
    group: str
    guarantee: Guarantee = "effectively-once"

    def prepare(self) -> None:
        """Do nothing: the files need no preparation."""

    def open(self) -> _FileWriter:
        """Open a writer of files."""
        return _FileWriter(ResultFiles(self.folder), self.group)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Do nothing, because results are held back."""


class _FileWriter:
    def __init__(self, files: ResultFiles, group: str) -> None:
        self._files = files
        self._group = group

    def write(self, results: Results[Any, Any], commit: CommitId) -> tuple[()]:
        source = ResultSource("sink", commit.sink, self._group, commit.task)
        self._files.write(commit.batch, source, _columns(results))
        return ()

    def close(self) -> None:
        pass


def _columns(results: Results[Any, Any]) -> pa.Table:
    """Return results as a table; keys and values without an Arrow type become their `repr`."""
    try:
        return results.columns()
    except (pa.ArrowException, TypeError, OverflowError):
        return _texts(results.records())


def _texts(records: Sequence[Record[Any, Any]]) -> pa.Table:
    return pa.table(
        {
            "key": [repr(record.key) for record in records],
            "value": [repr(record.value) for record in records],
            "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
            "headers": [repr(record.headers) for record in records],
        }
    )


def held_back_group(group: PartitionGroup, folder: Path) -> PartitionGroup:
    """Return a group whose sinks other than topics write files instead.

    Args:
        group: The group.
        folder: The folder of the query's results.
    """

    def held(node: SinkNode) -> SinkNode:
        target = node.target
        if not isinstance(target, Sink | FunctionSink | StdoutSink):
            return node
        label = str(getattr(target, "label", node.name))
        return replace(node, target=HeldBackSink(label, folder, group.name), on_refused="fail")

    nodes = (held(node) if isinstance(node, SinkNode) else node for node in group.nodes)
    return replace(group, nodes=tuple(nodes))
