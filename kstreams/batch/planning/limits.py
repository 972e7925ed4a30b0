"""Share the count of each `limit` node among tasks, so that exactly this many records pass.

A `limit` node that runs in one task needs no sharing. With several tasks, each batch gives every
task a share of the remaining number, and the shares never exceed it. A task with more records than
its share writes nothing and reports the number of its records; the batch is planned again with
larger shares, which are part of the plan. So a replayed batch has the same records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kstreams.batch.messages.oversized_batch import Counts, merged_counts
from kstreams.graph.limits import Reach, limits_of
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.state.log.pointer import Pointer
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.task_limits import Allowance

__all__ = ("Granted", "QueryLimits")

Granted = Mapping[str, Mapping[int, Allowance]]
"""The allowance of each task, by limit, then by task."""


@dataclass(frozen=True)
class _Limit:
    """A `limit` node of a query.

    Attributes:
        count: The maximum number of records that the node forwards, over all tasks.
        stage: The number of the stage whose tasks run the node.
        tasks: The number of these tasks.
    """

    count: int
    stage: int
    tasks: int


class QueryLimits:
    """The `limit` nodes of a query, which forward a maximum number of records.

    Args:
        groups: The groups of the query, in the order of their stages.
        counts: The number of tasks of each group.

    Attributes:
        any: Whether the query has `limit` nodes.
    """

    def __init__(self, groups: Sequence[PartitionGroup], counts: Sequence[int]) -> None:
        self._limits = {
            node: _Limit(count, stage, counts[stage])
            for stage, group in enumerate(groups)
            for node, count in limits_of([group]).items()
        }
        self._groups = [group.name for group in groups]
        self._topics = {node.name: node.topic.name for group in groups for node in group.sources}
        self._reach = Reach(groups)
        self.any = bool(self._limits)

    def passed(self, tasks: Mapping[TaskId, str]) -> Counts:
        """Return, by `limit` node and task, the number of records that have passed.

        `tasks` are the state pointers of the tasks, which contain these numbers.
        """
        own = {self._groups[limit.stage] for limit in self._limits.values()}
        return merged_counts(
            (task.partition, TaskMeta.from_json(Pointer.from_json(text).meta).passed)
            for task, text in tasks.items()
            if task.group in own
        )

    def stopped(self, passed: Counts) -> frozenset[str]:
        """Return the topics whose records have no effect, because `limit` nodes forward no more."""
        reached = [
            node
            for node, limit in self._limits.items()
            if sum(passed.get(node, {}).values()) >= limit.count
        ]
        if not reached:
            return frozenset()
        open_inputs = self._reach.open_inputs(reached)
        read = {topic for node, topic in self._topics.items() if node in open_inputs}
        return frozenset(self._topics.values()) - read

    def shares(
        self, passed: Counts, records: Mapping[tuple[int, int], int], granted: Granted
    ) -> Granted:
        """Return the allowance of each task in a batch, by `limit` node and task.

        An allowance is the number of records that a task may pass, including earlier batches. The
        result has only the `limit` nodes that run in several tasks.

        Args:
            passed: The number of records that passed before, by `limit` node and task.
            records: The number of records that each task reads, by stage and task.
            granted: The shares in the plan of the batch.
        """
        return {
            node: granted[node]
            if len(granted.get(node, ())) == limit.tasks
            else _shared(limit, passed.get(node, {}), records)
            for node, limit in self._limits.items()
            if limit.tasks > 1
        }

    def grant(self, shares: Granted, passed: Counts, arrived: Counts) -> Granted:
        """Return larger shares, after tasks had more records than their share.

        A task with a sufficient share keeps the number that it passed, because it may have written
        its results.

        Args:
            shares: The previous shares.
            passed: By `limit` node, the number of records of tasks with a sufficient share and of
                tasks that did not run.
            arrived: By `limit` node, the number of records of tasks with an insufficient share.
        """
        return {
            node: _granted(self._limits[node], shares[node], passed.get(node, {}), found)
            for node, found in arrived.items()
        }

    def stage_of(self, node: str) -> int:
        """Return the number of the stage that runs a `limit` node."""
        return self._limits[node].stage


def _shared(
    limit: _Limit, passed: Mapping[int, int], records: Mapping[tuple[int, int], int]
) -> dict[int, Allowance]:
    """Divide the records that a `limit` node may still pass among tasks, by their input.

    Args:
        limit: The `limit` node.
        passed: The number of records that have passed before, by task.
        records: The number of records that each task reads, by stage and task.
    """
    tasks = range(limit.tasks)
    left = max(limit.count - sum(passed.values()), 0)
    parts = _parts(left, [1 + records.get((limit.stage, task), 0) for task in tasks])
    return {task: Allowance(passed.get(task, 0) + parts[task], last=not left) for task in tasks}


def _granted(
    limit: _Limit,
    shares: Mapping[int, Allowance],
    passed: Mapping[int, int],
    arrived: Mapping[int, int],
) -> dict[int, Allowance]:
    kept = {
        task: Allowance(passed.get(task, 0), last=False) for task in shares if task not in arrived
    }
    left = limit.count - sum(share.up_to for share in kept.values())
    wanted = sum(arrived.values())
    if wanted <= left:
        return {**kept, **{task: Allowance(count, last=False) for task, count in arrived.items()}}
    had = {task: shares[task].up_to for task in arrived}
    more = _parts(left - sum(had.values()), [arrived[task] - had[task] for task in arrived])
    found = zip(had.items(), more, strict=True)
    return {**kept, **{task: Allowance(up_to + part, last=True) for (task, up_to), part in found}}


def _parts(total: int, weights: Sequence[int]) -> list[int]:
    """Divide a number in proportion to weights; the first parts get the remainder."""
    whole = sum(weights)
    parts = [total * weight // whole for weight in weights]
    for number in range(total - sum(parts)):
        parts[number] += 1
    return parts
