"""Find the topic records from which records of repartition edges derive."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kstreams.errors import KStreamsError
from kstreams.graph.nodes import RepartitionNode
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId, TopicPartition
from kstreams.record import Record
from kstreams.task.contexts import TaskServices
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.queues import Queue
from kstreams.task.records.rows import RecordCall, Stream

__all__ = ("UNDONE", "EdgeWatch", "Edges", "Origin", "Row", "definitions")

UNDONE = ("skipped-", "dead-letter-")
"""Prefixes of drop reasons for which all effects of the record are undone."""

Row = tuple[Stream, int]
"""A row of a task's input: its decoded queue, and the position in the queue."""


@dataclass(frozen=True)
class Origin:
    """The origin of a record, such as `lines/3@1902`, and the repartition edges on its path.

    Attributes:
        topic: Name of the topic, log or loop.
        partition: Partition in the topic; for a loop, the task that wrote the record.
        offset: Offset in the partition.
        timestamp_ms: Timestamp that the reading task used, ms since the epoch.
        via: The edges on the path, in order: `by-word/3#13` is record 13 that task 3 wrote to the
            edge `by-word` in the batch.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    via: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the location as text: `lines/3@1902`."""
        return f"{TopicPartition(self.topic, self.partition)}@{self.offset}"

    def to_json(self) -> dict[str, object]:
        """Return `{topic, partition, offset, timestamp_ms, via}`."""
        return {**vars(self), "via": list(self.via)}


def definitions(groups: Iterable[PartitionGroup]) -> dict[str, str]:
    """Return the file and line that define each node, by node; nodes without an origin are absent.

    An origin of a node is a place in the code, and has nothing to do with the origin of a record.
    """
    nodes = (node for group in groups for node in group.nodes)
    return {node.name: str(node.origin) for node in nodes if node.origin is not None}


@dataclass
class Edges:
    """The input row from which each record of an edge derives, by edge and writing task.

    None means a record without an input row: from a timer, or held until the end of the batch.

    Attributes:
        names: Names of all edges.
    """

    names: frozenset[str]
    _rows: dict[tuple[str, int], list[Row | None]] = field(default_factory=dict)

    @classmethod
    def between(cls, groups: Iterable[PartitionGroup]) -> Edges:
        """Return an `Edges` for the edges between groups, still without records."""
        return cls(frozenset(edge.name for group in groups for edge in group.entries))

    def of(self, edge: str, task: int) -> list[Row | None]:
        """Return the input rows of a task's records to an edge, as a list that callers extend."""
        return self._rows.setdefault((edge, task), [])

    def origin(self, row: Row | None) -> Origin | None:
        """Return the topic record that a row derives from; None if there is none."""
        via: list[str] = []
        while row is not None:
            stream, number = row
            found = stream.metadata(number)
            if not isinstance(stream.entry, RepartitionNode):
                return Origin(
                    found.topic,
                    found.partition,
                    found.offset,
                    found.timestamp,
                    tuple(reversed(via)),
                )
            via.append(f"{TopicPartition(found.topic, found.partition)}#{found.offset}")
            row = self.above(row)
        return None

    def above(self, row: Row) -> Row | None:
        """Return the input row of the previous stage that caused a record of an edge.

        Args:
            row: The record, as a row of the task that reads it from the edge.

        Returns:
            The row; None if the record has no input row, such as a record of a timer.
        """
        found = row[0].metadata(row[1])
        return self.row_at(found.topic, found.partition, found.offset)

    def row_at(self, edge: str, task: int, place: int) -> Row | None:
        """Return the input row that caused a record of an edge; None if it has no input row.

        Args:
            edge: The name of the edge.
            task: The task that wrote the record.
            place: The number of the record among the task's records in the edge, from 0.
        """
        rows = self._rows.get((edge, task), ())
        return rows[place] if place < len(rows) else None


class EdgeWatch:
    """A `Watch` that stores, for each record written to an edge, the input row that caused it.

    Args:
        task: The task.
        edges: Receives the rows, for all tasks of a batch.
    """

    def __init__(self, task: TaskId, edges: Edges) -> None:
        self.task = task
        self.edges = edges
        self.cursor = Cursor(-1, 0)

    def begin(self, services: TaskServices) -> None:
        """Keep the cursor of the task, which knows the current input row."""
        self.cursor = services.cursor

    def present(self) -> Row | None:
        """Return the current row; None if no row is being processed."""
        rows = self.cursor.rows
        return None if rows is None else rows.present()

    def bind(self, node: str, task: TaskId, process: RecordCall) -> RecordCall:
        """Return the callback unchanged."""
        return process

    def bind_output(self, node: str, take: RecordCall, mark: Callable[[], int]) -> RecordCall:
        """Return a callback that stores the current input row of each record written to an edge.

        For other nodes, return `take`. See `Watch.bind_output` for the arguments.
        """
        if node not in self.edges.names:
            return take
        rows, cursor = self.edges.of(node, self.task.partition), self.cursor
        put = rows.append

        def watched(record: Record[Any, Any]) -> None:
            place = mark()
            if place != len(rows):  # later ones are undone, or others came of no record
                del rows[place:]
                rows.extend([None] * (place - len(rows)))
            present = cursor.rows
            put(None if present is None else present.present())
            take(record)

        return watched

    def failed(self, queue: Queue, row: int, error: KStreamsError) -> None:
        """Do nothing, because failures and drops do not affect origins."""

    def dropped(self, node: str, reason: str, count: int) -> None:
        """Do nothing, because failures and drops do not affect origins."""
