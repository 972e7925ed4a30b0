"""What a worker remembers of its tasks' stores from one batch to the next."""

from __future__ import annotations

from collections.abc import Mapping

from kstreams.state.backend.task_key import TaskKey
from kstreams.state.cache.overlay import CachedRows, Overlay

__all__ = ("RowCache",)


class RowCache:
    """Rows of stores, as the objects that processors see, of the tasks that ran here last.

    Spark brings a task back to the worker that had it. The rows that it read and wrote
    are then still here, and hot keys cost no look-up in the backend. They are used for
    exactly the version that they were left with, which its lineage tells: a retry, or a
    task that was elsewhere meanwhile, begins without.

    For one thread at a time, as a worker is.

    Args:
        limit_bytes: About how much memory all rows take; tasks that ran long ago make
            room for others, and a task that is larger by itself keeps what its last batch
            has written.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._tasks: dict[TaskKey, tuple[str, Mapping[str, CachedRows], int]] = {}

    @property
    def size_bytes(self) -> int:
        """About how much memory the rows take."""
        return sum(size for _, _, size in self._tasks.values())

    def take(self, task: TaskKey, lineage: str) -> Mapping[str, CachedRows]:
        """Return what is known of a task's version, and let go of it."""
        known, rows, _ = self._tasks.pop(task, ("", {}, 0))
        return rows if known == lineage else {}

    def keep(self, task: TaskKey, lineage: str, overlay: Overlay) -> None:
        """Remember what an overlay knows, which is used no more.

        Args:
            task: Whose it is.
            lineage: Of the version that its changes have led to.
            overlay: At this version, with the changes that led to it.
        """
        size = _size(overlay)
        if size > self._limit:
            overlay.forget_read()
        overlay.committed()
        size = _size(overlay)
        while self._tasks and self.size_bytes + size > self._limit:
            del self._tasks[next(iter(self._tasks))]
        if size <= self._limit:
            self._tasks[task] = (lineage, overlay.cached(), size)


def _size(overlay: Overlay) -> int:
    return sum(known.size_bytes for known in overlay.cached().values())
