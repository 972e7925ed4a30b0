"""Progress messages of the restore of a task's state."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.pointer import ObjectRef

__all__ = ("RestoreProgress",)

_LOG = logging.getLogger(__name__)
_EVERY_SECONDS = 5.0
_MB = 1_000_000


class RestoreProgress:
    """Logs the start and the end of a restore, and its progress every five seconds.

    Start and end have level INFO. A long restore is a warning, which workers show by default,
    because a batch waits for it.

    Args:
        task: The task.
        refs: The objects to read, in order.
        now: Returns the seconds of a monotonic clock.
    """

    def __init__(
        self, task: TaskKey, refs: Sequence[ObjectRef], now: Callable[[], float] = time.monotonic
    ) -> None:
        self._task = task
        self._count = len(refs)
        self._bytes = sum(ref.size_bytes for ref in refs)
        self._now = now
        self._began = self._told = now()
        self._done_count = self._done_bytes = 0
        if refs:
            _LOG.info("task %s: restoring %s", task, _size(self._count, self._bytes))

    def done(self, ref: ObjectRef) -> None:
        """Record that an object was applied to the working store; log progress if due."""
        self._done_count += 1
        self._done_bytes += ref.size_bytes
        if self._done_count == self._count:
            seconds = self._now() - self._began
            size = _size(self._count, self._bytes)
            _LOG.info("task %s: restored %s in %.1f s", self._task, size, seconds)
        elif self._now() - self._told >= _EVERY_SECONDS:
            self._told = self._now()
            _LOG.warning(
                "task %s: restoring, %d of %d objects, %.1f of %.1f MB, %d %%",
                self._task,
                self._done_count,
                self._count,
                self._done_bytes / _MB,
                self._bytes / _MB,
                100 * self._done_bytes // max(1, self._bytes),
            )


def _size(count: int, size_bytes: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}, {size_bytes / _MB:.1f} MB"
