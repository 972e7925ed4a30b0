"""Roll back the effects of a failed record, so that skipping it leaves no partial effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kstreams.state.cache.overlay import Overlay
from kstreams.task.batch_hold import BatchHold
from kstreams.task.progress.cursor import Cursor
from kstreams.task.progress.drop_sample import DropSample
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.task_limits import TaskLimits

if TYPE_CHECKING:
    from kstreams.task.wiring import Wiring

__all__ = ("Undo",)


class Undo:
    """Marks the state of stores, outputs, schedules and counts, and restores it.

    Stream time keeps the time of the failed record. Effects of functions that sinks call cannot be
    undone.
    """

    def __init__(
        self,
        overlay: Overlay,
        wiring: Wiring,
        meta: TaskMeta,
        cursor: Cursor,
        holds: Sequence[BatchHold] = (),
        *,
        limits: TaskLimits,
    ) -> None:
        self._overlay = overlay
        self._meta = meta
        self._cursor = cursor
        self._limits = limits
        self._parts: list[Any] = [
            *wiring.collectors.values(),
            *wiring.results.values(),
            *wiring.lines.values(),
            *wiring.buffers,
            *wiring.joints.values(),
            *wiring.flows.tallies,
            *holds,
        ]
        self._marks: list[Any] = []
        self._due: dict[str, int] = {}
        self._arrived: dict[str, int] = {}
        self._dropped: dict[tuple[str, str], int] = {}
        self._samples: tuple[DropSample, ...] = ()

    def is_untouched(self) -> bool:
        """Return whether no data is buffered, as between batches."""
        marks = (part.mark() for part in self._parts)
        return not any(mark if isinstance(mark, int) else any(mark) for mark in marks)

    def mark(self) -> None:
        """Mark the current state, before a record is processed."""
        self._overlay.begin()
        self._marks = [part.mark() for part in self._parts]
        self._due = dict(self._meta.due)
        self._arrived = self._limits.mark()
        self._dropped, self._samples = dict(self._cursor.dropped), self._cursor.samples

    def keep(self) -> None:
        """Keep the effects since the mark."""
        self._overlay.end()

    def back(self) -> None:
        """Restore the state of the last mark."""
        self._overlay.rollback()
        for part, mark in zip(self._parts, self._marks, strict=True):
            part.cut(mark)
        self._meta.due.update(self._due)
        self._limits.back(self._arrived)
        self._cursor.dropped, self._cursor.samples = self._dropped, self._samples
