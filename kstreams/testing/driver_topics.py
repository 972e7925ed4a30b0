"""The test driver's topics: lists of encoded records by partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count

import pyarrow as pa

from kstreams.errors import PartitionCountError, TopologyError
from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.partitioner import Partitioner, count_problem, target, targets
from kstreams.raw_batch import INPUT_SCHEMA, by_topic, headers_array, headers_of
from kstreams.record import Headers
from kstreams.serde.objects import objects_of
from kstreams.task.meta import TaskMeta
from kstreams.task.queues import Queue

__all__ = ("DriverTopics", "Row")


@dataclass(frozen=True)
class Row:
    """An encoded record; `timestamp` in ms since the epoch."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers = ()
    partition: int = 0
    offset: int = 0


class DriverTopics:
    """Topics that come into being when they are first named."""

    def __init__(self, partitions: int | Mapping[str, int]) -> None:
        counts = [partitions] if isinstance(partitions, int) else partitions.values()
        problem = next(filter(None, map(count_problem, counts)), None)
        if problem:
            raise PartitionCountError(problem, hint="a test's topics have as many as it needs")
        self._partitions = partitions
        self._logs: dict[str, list[list[Row]]] = {}
        self._unread: dict[str, list[Row]] = {}

    def count(self, topic: str) -> int:
        """Return a topic's partition count; 1 for one that is not named."""
        if isinstance(self._partitions, int):
            return self._partitions
        return self._partitions.get(topic, 1)

    def create(self, topic: str, partitions: int) -> None:
        """Make a topic with so many partitions, whatever is said of others."""
        self._logs[topic] = [[] for _ in range(partitions)]

    def append(
        self, topic: str, row: Row, partitioner: Partitioner, partition: int | None = None
    ) -> None:
        """Add a record; those of null key take turns, by the topic's length."""
        logs = self._log(topic)
        if partition is None:
            partition = target(partitioner, row.key, len(logs), count(sum(map(len, logs))))
        self._place(topic, logs, row, partition)

    def append_table(self, table: pa.Table, partitioner: Partitioner) -> None:
        """Add a task's output; in each topic, rows of null key take turns."""
        for topic, rows in by_topic(table):
            logs = self._log(topic)
            placed = targets(partitioner, rows.column("key").combine_chunks(), len(logs))
            columns = [objects_of(rows.column(name)) for name in ("key", "value", "timestamp")]
            headers = headers_of(rows.column("headers"))
            for row, partition in zip(map(Row, *columns, headers), placed.tolist(), strict=True):
                self._place(topic, logs, row, partition)

    def _place(self, topic: str, logs: list[list[Row]], row: Row, partition: int) -> None:
        if not 0 <= partition < len(logs):
            raise TopologyError(f"topic {topic!r} has {len(logs)} partitions, not {partition}")
        placed = replace(row, partition=partition, offset=len(logs[partition]))
        logs[partition].append(placed)
        self._unread.setdefault(topic, []).append(placed)

    def read(self, topic: str) -> list[Row]:
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

    def _log(self, topic: str) -> list[list[Row]]:
        return self._logs.setdefault(topic, [[] for _ in range(self.count(topic))])
