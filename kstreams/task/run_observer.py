"""Observers of a running task, which explain a replayed batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kstreams.errors import KStreamsError
from kstreams.ids import TaskId
from kstreams.task.records.queues import Queue
from kstreams.task.records.rows import RecordCall

if TYPE_CHECKING:
    from kstreams.task.contexts import TaskServices

__all__ = ("Watch", "begun")


class Watch(Protocol):
    """Observes one task in one batch without changing its results.

    A watched task runs all of its nodes record by record, with the same results as by columns.
    """

    def begin(self, services: TaskServices) -> None:
        """Accept the shared services, before the first processor is created."""
        ...

    def bind(self, node: str, task: TaskId, process: RecordCall) -> RecordCall:
        """Return the replacement of a processor's `process`; see `Interceptor`."""
        ...

    def bind_output(self, node: str, take: RecordCall, mark: Callable[[], int]) -> RecordCall:
        """Return the replacement of a function that takes output records.

        Args:
            node: A sink, a repartition edge or the end of a loop.
            take: The function.
            mark: Returns the number of records that were taken and not rolled back, if that is
                known.
        """
        ...

    def failed(self, queue: Queue, row: int, error: KStreamsError) -> None:
        """Observe a failed record, before the policy of its source applies."""
        ...

    def dropped(self, node: str, reason: str, count: int) -> None:
        """Observe dropped records of a node."""
        ...


def begun(watch: Watch | None, services: TaskServices) -> tuple[Watch, ...]:
    """Start a watch, if there is one; return the interceptors of each processor."""
    if watch is None:
        return ()
    watch.begin(services)
    services.cursor.on_drop = watch.dropped
    return (watch,)
