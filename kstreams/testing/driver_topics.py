"""The test driver's topics: lists of encoded records by partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

import pyarrow as pa

from kstreams.connection import RawRecord
from kstreams.errors import PartitionCountError, TopologyError
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.partitioner import Partitioner, count_problem, target, targets
from kstreams.raw_batch import INPUT_SCHEMA, by_topic, headers_array, headers_of
from kstreams.serde.objects import objects_of
from kstreams.task.meta import TaskMeta
from kstreams.task.queues import Queue

__all__ = ("DriverTopics",)


class DriverTopics:
    """Topics that come into being when they are first named."""

    def __init__(self, partitions: int | Mapping[str, int]) -> None:
        counts = [partitions] if isinstance(partitions, int) else partitions.values()
        problem = next(filter(None, map(count_problem, counts)), None)
        if problem:
            raise PartitionCountError(problem, hint="a test's topics have as many as it needs")
        self._partitions = partitions
        self._logs: dict[str, list[list[RawRecord]]] = {}
        self._unread: dict[str, list[RawRecord]] = {}

    def count(self, topic: str) -> int:
        """Return a topic's partition count; 1 for one that is not named."""
        if isinstance(self._partitions, int):
            return self._partitions
        return self._partitions.get(topic, 1)

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic with so many partitions, whatever is said of others."""
        self._logs[topic] = [[] for _ in range(partitions)]

    def append(
        self, record: RawRecord, partitioner: Partitioner, partition: int | None = None
    ) -> None:
        """Add a record; those of null key take turns, by the topic's length.

        Args:
            record: The record; its own partition and offset do not count.
            partitioner: Which partition its key belongs to.
            partition: Where to put it instead.
        """
        logs = self._log(record.topic)
        if partition is None:
            partition = target(partitioner, record.key, len(logs), count(sum(map(len, logs))))
        self._place(logs, record, partition)

    def append_table(self, table: pa.Table, partitioner: Partitioner) -> None:
        """Add a task's output; in each topic, rows of null key take turns."""
        for topic, rows in by_topic(table):
            logs = self._log(topic)
            placed = targets(partitioner, rows.column("key").combine_chunks(), len(logs))
            columns = [objects_of(rows.column(name)) for name in ("timestamp", "key", "value")]
            headers = headers_of(rows.column("headers"))
            for partition, *parts in zip(placed.tolist(), *columns, headers, strict=True):
                self._place(logs, RawRecord(topic, partition, 0, *parts), partition)

    def _place(self, logs: list[list[RawRecord]], record: RawRecord, partition: int) -> None:
        topic = record.topic
        if not 0 <= partition < len(logs):
            raise TopologyError(f"topic {topic!r} has {len(logs)} partitions, not {partition}")
        placed = replace(record, partition=partition, offset=len(logs[partition]))
        logs[partition].append(placed)
        self._unread.setdefault(topic, []).append(placed)

    def read(self, topic: str) -> list[RawRecord]:
        """Return what was not read before, in the order it was written."""
        return self._unread.pop(topic, [])

    def queue(self, node: SourceNode, partition: int, meta: TaskMeta) -> Queue | None:
        """Return a source partition's records behind the task's position, or None."""
        topic = node.topic.name
        logs = self._log(topic)
        start = meta.next_offsets.get(TopicPartition(topic, partition), 0)
        rows = logs[partition][start:] if partition < len(logs) else []
        if not rows:
            return None
        columns = [
            pa.array([row.offset for row in rows], pa.int64()),
            pa.array([row.timestamp for row in rows], pa.int64()),
            pa.array([row.key for row in rows], pa.binary()),
            pa.array([row.value for row in rows], pa.binary()),
            headers_array([row.headers for row in rows]),
        ]
        table = pa.Table.from_arrays(columns, schema=INPUT_SCHEMA)
        return Queue(node.name, topic, partition, table)

    def _log(self, topic: str) -> list[list[RawRecord]]:
        return self._logs.setdefault(topic, [[] for _ in range(self.count(topic))])
