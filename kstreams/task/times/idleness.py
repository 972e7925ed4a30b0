"""Advances stream time with the wall clock while a task has no records."""

from __future__ import annotations

from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.times import LATEST_MS

__all__ = ("Idleness",)


class Idleness:
    """Advances stream time when a task has had no records for a timeout.

    Stream time advances repeatedly by the elapsed wall time. All times are recorded, so a replayed
    batch has the same result.

    Args:
        timeout_ms: The timeout; None: no timeout.
        meta: The time of the task's last records.
        cursor: The stream time.
    """

    def __init__(self, timeout_ms: int | None, meta: TaskMeta, cursor: Cursor) -> None:
        self._timeout = timeout_ms
        self._meta = meta
        self._cursor = cursor
        self._since = 0

    def advance(self, wall_ms: int, *, since_ms: int, with_records: bool) -> bool:
        """Advance stream time if that is due; return whether it advanced.

        Args:
            wall_ms: The wall time of the batch.
            since_ms: The earliest start of idleness, ms: the time while the app was stopped does
                not count.
            with_records: Whether the batch has records.
        """
        if self._timeout is None:
            return False
        meta, cursor = self._meta, self._cursor
        last = meta.last_record_wall_ms
        known = wall_ms if with_records or last is None else min(last, wall_ms)
        meta.last_record_wall_ms = known
        self._since = max(known, since_ms)
        passed = wall_ms - self._since
        if cursor.stream_time < 0 or passed < self._timeout:
            return False
        cursor.stream_time = min(cursor.stream_time + passed, LATEST_MS)
        cursor.idle_time = cursor.stream_time
        meta.last_record_wall_ms = self._since = wall_ms
        return True

    def next_due(self) -> int | None:
        """Return the wall time, ms, at which the task becomes idle; None if it cannot."""
        if self._timeout is None or self._cursor.stream_time < 0:
            return None
        return self._since + self._timeout
