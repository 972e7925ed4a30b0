"""Detects when tasks move between workers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.batch.messages.task_status import TaskStatus
from kstreams.ids import TaskId

__all__ = ("TaskMove", "TaskPlaces")


@dataclass(frozen=True)
class TaskMove:
    """A task that ran on another worker than before.

    Attributes:
        task: The id of the task.
        from_worker: The machine and process of the previous worker; None for the first batch since
            the start of the app.
        to_worker: The machine and process of the new worker.
        restored: Whether the new worker restored the state from the durable log.
    """

    task: TaskId
    from_worker: str | None
    to_worker: str
    restored: bool = False


class TaskPlaces:
    """Remembers the last worker of each task of a query."""

    def __init__(self) -> None:
        self._workers: dict[TaskId, str] = {}

    def moved(self, statuses: Sequence[TaskStatus]) -> tuple[TaskMove, ...]:
        """Return the tasks of a committed batch that ran on another worker than before."""
        found: list[TaskMove] = []
        for status in statuses:
            task, worker = status.task, status.numbers.worker
            before = self._workers.get(task)
            if worker and worker != before:
                self._workers[task] = worker
                found.append(TaskMove(task, before, worker, status.numbers.restored))
        return tuple(found)
