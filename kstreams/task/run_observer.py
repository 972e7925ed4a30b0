"""Who looks on while a task runs: what a batch that is run again is explained by."""

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
    """Looks on while one task runs one batch, and changes nothing of what it does.

    A task that is watched runs all of its nodes record by record, which gives what columns give.
    """

    def begin(self, services: TaskServices) -> None:
        """Take what contexts share, before the first processor is made."""
        ...

    def bind(self, node: str, task: TaskId, process: RecordCall) -> RecordCall:
        """Return what is called in place of a processor's `process`; see `Interceptor`."""
        ...

    def bind_output(self, node: str, take: RecordCall, mark: Callable[[], int]) -> RecordCall:
        """Return what is called in place of what takes records out of the task.

        Args:
            node: A sink, a repartition edge or the end of a loop.
            take: What takes them.
            mark: Returns how many records were taken and not undone, where that is known.
        """
        ...

    def failed(self, queue: Queue, row: int, error: KStreamsError) -> None:
        """Hear of a record that has failed, before its source's policy is asked."""
        ...

    def dropped(self, node: str, reason: str, count: int) -> None:
        """Hear of records that a node has dropped."""
        ...


def begun(watch: Watch | None, services: TaskServices) -> tuple[Watch, ...]:
    """Let somebody begin to look on; return what is to be wrapped around each processor."""
    if watch is None:
        return ()
    watch.begin(services)
    services.cursor.told = watch.dropped
    return (watch,)
