"""Replacements of topics and sinks for replays, which write nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from kstreams.batch.io.sink_writers import SinkWriters
from kstreams.batch.io.topic_io import BatchId, TopicIO
from kstreams.checkpoint.planning.plans import Slice
from kstreams.graph.topology import PartitionGroup
from kstreams.raw_batch import NO_LIMIT
from kstreams.sink import CommitId, Results, Sink, Writer
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.records.queues import Queue
from kstreams.topic_limits import TopicLimits

__all__ = ("ReadOnlyIO", "UnwrittenSinks")


@dataclass(frozen=True)
class ReadOnlyIO(TopicIO):
    """A `TopicIO` that reads, and writes nothing.

    Attributes:
        others: The `TopicIO` that `read` and `limits` use.
    """

    others: TopicIO

    @override
    def read(self, slices: Sequence[Slice], *, max_bytes: int = NO_LIMIT) -> list[Queue]:
        return self.others.read(slices, max_bytes=max_bytes)

    @override
    def limits(self, topic: str) -> TopicLimits:
        return self.others.limits(topic)

    @override
    def write(self, output: TaskOutput, group: PartitionGroup, batch: BatchId) -> tuple[()]:
        return ()


class _NoWriter:
    """A `Writer` that accepts all results and writes nothing."""

    def write(self, results: Results[Any, Any], commit: CommitId) -> tuple[()]:
        return ()

    def close(self) -> None:
        pass


class UnwrittenSinks(SinkWriters):
    """Returns writers that write nothing, without opening the sinks."""

    def get(self, owner: str, name: str, sink: Sink[Any, Any]) -> Writer[Any, Any]:
        """Return a writer that writes nothing."""
        return _NoWriter()
