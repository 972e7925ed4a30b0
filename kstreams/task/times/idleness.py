"""Stream time goes on by the wall clock while no records come."""

from __future__ import annotations

from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.times import LATEST_MS

__all__ = ("Idleness",)


class Idleness:
    """Moves stream time on once a task has had no records for a time-out.

    By as much wall time as has passed since then, again and again. All times are recorded
    ones, so a batch that runs again does the same.

    Args:
        timeout_ms: How long a task may be quiet; None: for ever.
        meta: Where the task remembers when it was not.
        cursor: Its stream time.
    """

    def __init__(self, timeout_ms: int | None, meta: TaskMeta, cursor: Cursor) -> None:
        self._timeout = timeout_ms
        self._meta = meta
        self._cursor = cursor
        self._since = 0

    def advance(self, wall_ms: int, *, since_ms: int, with_records: bool) -> bool:
        """Move stream time if that is due; return whether it has moved.

        Args:
            wall_ms: The batch's wall time.
            since_ms: Idleness counts from here on at the earliest: while an app does not
                run, what comes is not seen.
            with_records: Whether the batch has brought records.
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
        """Return when the task wants to be called, ms of wall time, or None."""
        if self._timeout is None or self._cursor.stream_time < 0:
            return None
        return self._since + self._timeout
