"""The test driver's topics: lists of encoded records by partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import cast

import pyarrow as pa

from kstreams._types import K, V
from kstreams.checkpoint.planning.plans import Slice
from kstreams.connection import RawRecord
from kstreams.errors import PartitionCountError, TopologyError
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.partitioner import Partitioner, count_problem, target, targets
from kstreams.raw_batch import INPUT_SCHEMA, by_topic, headers_array, headers_of
from kstreams.record import Headers, Record
from kstreams.serde.objects import objects_of
from kstreams.topic import Topic
from kstreams_testing.driver_task import DriverTask

__all__ = ("DriverTopics", "PlacedRows", "decoded")


PlacedRows = tuple[str, Sequence[tuple[int, int, bytes | None, bytes | None, Headers]]]
"""A topic, and records for it: partition, timestamp, key, value, headers."""


class DriverTopics:
    """Topics in memory, which are created when they are first used."""

    def __init__(self, partitions: int | Mapping[str, int]) -> None:
        counts = [partitions] if isinstance(partitions, int) else partitions.values()
        problem = next(filter(None, map(count_problem, counts)), None)
        if problem:
            raise PartitionCountError(
                problem, hint="set partitions= to the number that the test needs."
            )
        self._partitions = partitions
        self._logs: dict[str, list[list[RawRecord]]] = {}
        self._unread: dict[str, list[RawRecord]] = {}
        self._deleted = 0

    def count(self, topic: str) -> int:
        """Return the configured partition count of a topic; 1 if none is configured."""
        if isinstance(self._partitions, int):
            return self._partitions
        return self._partitions.get(topic, 1)

    def create(self, topic: str, partitions: int) -> None:
        """Create a topic with a number of partitions, instead of the configured number."""
        self._logs[topic] = [[] for _ in range(partitions)]

    def ensure(self, topic: str) -> None:
        """Create a topic, unless it exists."""
        self.records(topic)

    def delete(self, topic: str) -> None:
        """Delete a topic and its records."""
        del self._logs[topic]
        self._unread.pop(topic, None)
        self._deleted += 1

    def names(self) -> tuple[str, ...]:
        """Return the names of the topics that exist, sorted."""
        return tuple(sorted(self._logs))

    def id_of(self, topic: str) -> str:
        """Return an id that changes when topics are deleted."""
        return f"{topic}-{self._deleted}"

    def append(
        self, record: RawRecord, partitioner: Partitioner, partition: int | None = None
    ) -> None:
        """Append a record; records with null keys are distributed round-robin.

        Args:
            record: The record; its partition and offset are ignored.
            partitioner: Chooses the partition of the key.
            partition: The partition to use instead.
        """
        topic = record.topic
        logs = self.records(topic)
        if partition is None:
            partition = target(partitioner, record.key, len(logs), count(sum(map(len, logs))))
        self.check(topic, partition)
        row = (partition, record.timestamp, record.key, record.value, record.headers)
        self.add((topic, [row]))

    def placed(self, table: pa.Table, partitioner: Partitioner) -> Iterator[PlacedRows]:
        """Yield a task's output by topic, each record with its partition.

        In each topic, rows with null keys are distributed round-robin.

        Raises:
            TopologyError: A partitioner returned a partition that the topic does not have.
        """
        for topic, rows in by_topic(table):
            count = len(self.records(topic))
            partitions = targets(partitioner, rows.column("key").combine_chunks(), count).tolist()
            for partition in set(partitions):
                self.check(topic, partition)
            columns = [objects_of(rows.column(name)) for name in ("timestamp", "key", "value")]
            headers = headers_of(rows.column("headers"))
            yield topic, list(zip(partitions, *columns, headers, strict=True))

    def add(self, placed: PlacedRows) -> None:
        """Append the records of one topic that `placed` has yielded to their partitions."""
        topic, rows = placed
        logs, unread = self.records(topic), self._unread.setdefault(topic, [])
        for partition, timestamp, key, value, headers in rows:
            log = logs[partition]
            record = RawRecord(topic, partition, len(log), timestamp, key, value, headers)
            log.append(record)
            unread.append(record)

    def check(self, topic: str, partition: int) -> None:
        """Check that a topic has a partition.

        Raises:
            TopologyError: The topic does not have the partition.
        """
        count = len(self.records(topic))
        if not 0 <= partition < count:
            raise TopologyError(
                f"topic {topic!r} has no partition {partition}; expected 0 to {count - 1}"
            )

    def read(self, topic: str) -> list[RawRecord]:
        """Return the unread records in the order of writing."""
        return self._unread.pop(topic, [])

    def fresh(self, node: SourceNode, task: DriverTask) -> Slice | None:
        """Return the slice of unprocessed records of a source and task; None if there are none."""
        topic, partition = node.topic.name, task.partition
        start = task.state.meta.next_offsets.get(TopicPartition(topic, partition), 0)
        logs = self.records(topic)
        end = len(logs[partition]) if partition < len(logs) else 0
        return Slice(node.name, topic, partition, start, end) if start < end else None

    def table(self, records: Slice) -> pa.Table:
        """Return records of a partition, in columns of `INPUT_SCHEMA`."""
        log = self.records(records.topic)[records.partition]
        rows = log[records.from_offset : records.to_offset]
        columns = [
            pa.array([row.offset for row in rows], pa.int64()),
            pa.array([row.timestamp for row in rows], pa.int64()),
            pa.array([row.key for row in rows], pa.binary()),
            pa.array([row.value for row in rows], pa.binary()),
            headers_array([row.headers for row in rows]),
        ]
        return pa.Table.from_arrays(columns, schema=INPUT_SCHEMA)

    def records(self, topic: str) -> list[list[RawRecord]]:
        """Return a topic's records by partition, after creating the topic if it is missing."""
        found = self._logs.get(topic)
        if found is None:
            found = self._logs[topic] = [[] for _ in range(self.count(topic))]
        return found


def decoded(topic: Topic[K, V], row: RawRecord) -> Record[K, V]:
    """Decode a record of a topic."""
    key, value, headers = topic.unframed(row.key, row.value, row.headers)
    return Record(
        cast("K", None if key is None else topic.key.deserialize(key)),
        cast("V", None if value is None else topic.value.deserialize(value)),
        row.timestamp,
        headers,
    )
