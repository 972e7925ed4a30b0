"""The rows of a worker's stores that stay cached from one batch to the next."""

from __future__ import annotations

from collections.abc import Mapping

from kstreams.state.backend.task_key import TaskKey
from kstreams.state.cache.overlay import CachedRows, Overlay

__all__ = ("RowCache",)


class RowCache:
    """Rows of stores as objects, of the tasks that ran last on this worker.

    Spark schedules a task on its previous worker. The rows that the task read and wrote are then
    still cached, and hot keys need no backend lookup. The rows are used only if their version id is
    that of the task's current version: a retry, or a task that ran elsewhere meanwhile, starts with
    an empty cache.

    Not thread-safe.

    Args:
        limit_bytes: The approximate maximum memory of all rows. Rows of tasks that ran long ago are
            removed first; a task above the limit keeps only the rows that its last batch wrote.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._tasks: dict[TaskKey, tuple[str, Mapping[str, CachedRows], int]] = {}

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the rows, in bytes."""
        return sum(size for _, _, size in self._tasks.values())

    def take(self, task: TaskKey, version_id: str) -> Mapping[str, CachedRows]:
        """Remove and return the cached rows of a task's version, by store; empty if not cached."""
        known, rows, _ = self._tasks.pop(task, ("", {}, 0))
        return rows if known == version_id else {}

    def keep(self, task: TaskKey, version_id: str, overlay: Overlay) -> None:
        """Keep the rows of an overlay that is no longer used.

        Args:
            task: The task.
            version_id: The version id of the version that includes the overlay's changes.
            overlay: The overlay, with its changes.
        """
        size = _size(overlay)
        if size > self._limit:
            overlay.forget_read()
        overlay.committed()
        size = _size(overlay)
        while self._tasks and self.size_bytes + size > self._limit:
            del self._tasks[next(iter(self._tasks))]
        if size <= self._limit:
            self._tasks[task] = (version_id, overlay.cached(), size)


def _size(overlay: Overlay) -> int:
    return sum(known.size_bytes for known in overlay.cached().values())
