"""Feeds a query from Kafka topics, which tasks read and write themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import partial

import pyarrow as pa

from kstreams.checkpoint.planning.plans import Slice
from kstreams.connection import TopicEnds
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.log.commits import Commit
from kstreams.state.log.loop_objects import LoopPart, read_loops
from kstreams_kafka.admin import KafkaAdmin
from kstreams_kafka.options import Kafka
from kstreams_kafka.publisher import Publisher
from kstreams_kafka.topic_io import KafkaIO

__all__ = ("KafkaFeed",)

_PATIENCE = timedelta(seconds=60)
"""The maximum time without a connection to the cluster before the app fails."""
_AT_ONCE = 16


class KafkaFeed:
    """A `Feed` on Kafka topics: a slice is a range of offsets."""

    def __init__(self, connection: Kafka) -> None:
        self.admin = KafkaAdmin(connection.client_options("admin"), timeout=_PATIENCE)
        self.io = KafkaIO(connection)
        self._connection = connection
        self._publisher: Publisher | None = None

    def known_ends(self, topic: str) -> TopicEnds:
        """Return the id and the end offsets of a topic."""
        return self.admin.ends(topic)

    def slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        """Yield one slice with the whole range of offsets."""
        yield Slice(node.name, node.topic.name, partition, start, stop)

    def mean_bytes(self, place: TopicPartition, offset: int) -> float | None:  # not known
        """Return None, because the size of records is not known before they are read."""
        return None

    def prepare(self, publisher: str, topic: str, last: Commit | None) -> None:
        """Fence the producers of older drivers, if delivery is exactly once."""
        staged = last is not None and bool(last.staged)
        if topic and self._connection.delivery == "exactly-once" and not staged:
            following = 0 if last is None else last.batch + 1
            self._publisher_of(publisher).prepare(topic, following)

    def publish(self, commit: Commit, objects: ObjectStore, check: Callable[[], None]) -> None:
        """Publish staged output in a transaction, with exactly-once delivery.

        Otherwise the output of tasks is visible when it is written.
        """
        staged = commit.staged
        if staged:
            publisher = self._publisher_of(staged.publisher)
            rows = partial(_tables, objects, staged.parts)
            publisher.publish(staged.topic, commit.batch, rows, check)

    def close(self) -> None:
        """Close the producer of transactions."""
        if self._publisher is not None:
            self._publisher.close()

    def _publisher_of(self, name: str) -> Publisher:
        if self._publisher is None:
            self._publisher = Publisher(self._connection, name, patience=_PATIENCE)
        return self._publisher

    def sweep(self, producers: Iterable[str], *, older_than_ms: int) -> None:
        """Do nothing: written records stay, and repeated records have equal ids."""


def _tables(objects: ObjectStore, parts: Sequence[LoopPart]) -> Iterator[pa.Table]:
    """Yield staged output, one table for each `LoopPart`; read several parts at a time."""
    for first in range(0, len(parts), _AT_ONCE):
        yield from read_loops(objects, parts[first : first + _AT_ONCE])
