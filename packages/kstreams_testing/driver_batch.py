"""One batch of a pipeline in the test driver, whose tasks share the limits of the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from kstreams.batch.messages.oversized_batch import Counts, merged_counts
from kstreams.batch.messages.task_call import TaskCall
from kstreams.batch.messages.task_status import TaskStatus
from kstreams.batch.planning.limits import Granted, QueryLimits
from kstreams.checkpoint.planning.plans import Slice
from kstreams.state.log.loop_objects import LoopPart
from kstreams.task.records.queues import Queue
from kstreams.task.task_limits import Exceeded
from kstreams_testing.driver_task import DriverTask

__all__ = ("DriverBatch", "passed_by")


def passed_by(tasks: Sequence[tuple[int, DriverTask]]) -> Counts:
    """Return the number of records that have passed each limit, by limit and task."""
    return merged_counts((task.partition, task.state.meta.passed) for _, task in tasks)


@dataclass(frozen=True)
class DriverBatch:
    """A batch of chained groups.

    Attributes:
        tasks: Pairs of stage number and task, in the order of stages.
        slices: The input of each task.
        limits: The limits of the groups.
        read: Reads slices.
        discard: Discards the output of the tasks.
    """

    tasks: Sequence[tuple[int, DriverTask]]
    slices: Sequence[tuple[Slice, ...]]
    limits: QueryLimits
    read: Callable[[Sequence[Slice]], list[Queue]]
    discard: Callable[[], None]

    def run(self, call: TaskCall, looped: Sequence[LoopPart], number: int) -> list[TaskStatus]:
        """Run the tasks; repeat the run while a task has more records than its share of a limit.

        Args:
            call: The call for all tasks.
            looped: The records in loops.
            number: The number of the batch.

        Raises:
            KStreamsError: A task failed; all tasks are rolled back to the state before the batch.
        """
        passed = passed_by(self.tasks)
        records = {
            (stage, task.partition): sum(map(len, own))
            for (stage, task), own in zip(self.tasks, self.slices, strict=True)
        }
        granted: Granted = {}
        while True:
            shares = self.limits.shares(passed, records, granted)
            try:
                statuses, arrived = self._attempt(call, looped, number, shares)
            except BaseException:
                self._undo()
                raise
            if not arrived:
                return statuses
            granted = {**granted, **self.limits.grant(shares, passed_by(self.tasks), arrived)}
            self._undo()

    def _undo(self) -> None:
        self.discard()
        for _, task in self.tasks:
            task.undo()

    def _attempt(
        self, call: TaskCall, looped: Sequence[LoopPart], number: int, shares: Granted
    ) -> tuple[list[TaskStatus], Counts]:
        """Run the tasks; return statuses, and record counts of tasks that exceed their shares.

        If a task exceeds its share of a limit, its stage is completed, and later stages do not run.
        """
        forwarded: dict[tuple[int, int], list[Queue]] = {}
        statuses: list[TaskStatus] = []
        exceeded: list[tuple[int, Mapping[str, int]]] = []
        last = len(self.tasks)
        for (stage, task), own in zip(self.tasks, self.slices, strict=True):
            if stage > last:
                break
            nodes = {node.name for node in task.group.processors} if shares else ()
            given = replace(
                call,
                slices=own,
                loops=tuple(part for part in looped if task.takes(part)),
                limits={n: found[task.partition] for n, found in shares.items() if n in nodes},
            )
            edges = forwarded.pop((stage, task.partition), ())
            try:
                result = task.runner.run(given, self.read(own), edges, batch=number)
            except Exceeded as exc:
                exceeded.append((task.partition, exc.arrived))
                last = stage
                continue
            for each in result.forwarded:
                forwarded.setdefault((each.stage, each.task), []).append(each.queue)
            statuses.append(result.status)
        return statuses, merged_counts(exceeded)
