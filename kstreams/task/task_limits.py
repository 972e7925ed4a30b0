"""Count the records that arrive at a task's limits, and the records that may pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from kstreams.graph.limits import Reach, limits_of
from kstreams.graph.nodes import JoinNode, ProcessorNode
from kstreams.graph.topology import PartitionGroup
from kstreams.state.log.fields import checked_integer
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("Allowance", "Exceeded", "TaskLimits")

T = TypeVar("T")
"""Type of the items of an iterator."""


class Allowance(NamedTuple):
    """The number of records that a `limit` node may forward in one task.

    Attributes:
        up_to: The total number of records, including earlier batches.
        last: Whether these records reach the limit. Otherwise a task with more records must run
            again with a larger allowance.
    """

    up_to: int
    last: bool

    def to_json(self) -> list[int | bool]:
        """Return the fields as JSON-compatible data."""
        return [self.up_to, self.last]

    @classmethod
    def from_json(cls, data: object) -> Allowance:
        """Parse the result of `to_json`; raises a `ValueError` that describes the problem."""
        if not isinstance(data, list) or len(data) != 2 or not isinstance(data[1], bool):
            raise ValueError(
                "expected the record count and the flag (last or not) of a task's share of a "
                f"limit, got {data!r:.80}"
            )
        return cls(checked_integer(data[0], "the share of a limit"), data[1])


@dataclass
class Exceeded(Exception):
    """More records arrived at a `limit` node than this task may let pass; the batch is discarded.

    Attributes:
        arrived: By `limit` node, the total number of records that arrived at it.
    """

    arrived: Mapping[str, int]


class TaskLimits:
    """Counts the records that arrive at the limits of a task.

    Args:
        group: The task's nodes.
        meta: The metadata with the number of records that passed each limit; `end` changes it.

    Attributes:
        counts: The limits of the group, by node.
        stops: Whether the task leaves the remaining records of its sources unprocessed, because
            none has an effect. Only a task without stores and joins does so: otherwise the results
            would depend on whether nodes run by records or by columns.
    """

    def __init__(self, group: PartitionGroup, meta: TaskMeta) -> None:
        self.counts = limits_of([group])
        self._reach = Reach([group])
        self._meta = meta
        self._may_stop = bool(group.sources) and all(map(_is_plain, group.processors))
        self._allowed: dict[str, Allowance] = {}
        self._arrived: dict[str, int] = {}
        self.stops = False
        self.begin({})

    def begin(self, allowances: Mapping[str, Allowance]) -> None:
        """Begin a batch.

        Args:
            allowances: The allowance by limit; a limit without an allowance belongs to this task
                only.
        """
        self._allowed = {
            node: allowances.get(node, Allowance(count, last=True))
            for node, count in self.counts.items()
        }
        self._arrived = {node: self._meta.passed.get(node, 0) for node in self.counts}
        self._look()

    def admit(self, node: str, count: int) -> int:
        """Count records that arrive at a limit; return how many of them may pass."""
        before = self._arrived[node]
        self._arrived[node] = after = before + count
        allowed = self._allowed[node].up_to
        if after < allowed:
            return count
        if before < allowed:
            self._look()
        return max(allowed - before, 0)

    def mark(self) -> dict[str, int]:
        """Return the current counts, as a mark for `back`."""
        return dict(self._arrived)

    def back(self, mark: dict[str, int]) -> None:
        """Restore the counts of a mark."""
        if mark != self._arrived:
            self._arrived = mark
            self._look()

    def until_stop(self, items: Iterator[T]) -> Iterator[T]:
        """Yield items until no further item has an effect."""
        while not self.stops and (item := next(items, None)) is not None:
            yield item

    def end(self) -> None:
        """Record the number of passed records in the batch.

        Raises:
            Exceeded: The task needs a larger allowance.
        """
        exceeded = {
            node: arrived
            for node, arrived in self._arrived.items()
            if arrived > self._allowed[node].up_to and not self._allowed[node].last
        }
        if exceeded:
            raise Exceeded(exceeded)
        before = self._meta.passed
        passed = {
            node: max(min(arrived, self._allowed[node].up_to), before.get(node, 0))
            for node, arrived in self._arrived.items()
        }
        self._meta.passed = {node: count for node, count in passed.items() if count}

    def _look(self) -> None:
        """Set `stops` if limits are reached and no further record has an effect; else unset it."""
        reached = [
            node
            for node, (up_to, last) in self._allowed.items()
            if last and self._arrived[node] >= up_to
        ]
        self.stops = self._may_stop and bool(reached) and not self._reach.open_inputs(reached)


def _is_plain(node: ProcessorNode) -> bool:
    """Return whether a node processes single records, without stores, tables or a join."""
    uses = (*node.stores, *node.reads, *node.globals)
    return not (uses or node.batch or isinstance(node, JoinNode))
