"""The origin of a record, for a failure that is found during the processing of other records."""

from __future__ import annotations

from collections.abc import Callable

from kstreams.processors.context import Origin
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.queues import Queue

__all__ = ("RecordFailed", "origin_of")

RecordFailed = Callable[[Queue, int, object, BaseException], None]
"""Deals with a record that failed: queue, row, the decoded key, and why."""


class _RowOrigin:
    """A row of a queue."""

    def __init__(self, queue: Queue, row: int, key: object, failed: RecordFailed) -> None:
        self._row = queue, row, key
        self._failed = failed

    def fail(self, error: BaseException) -> None:
        """Pass a failure to the source, whose policy applies."""
        self._failed(*self._row, error)


class _NoOrigin:
    """The origin of items without a record, such as those of a punctuator."""

    def fail(self, error: BaseException) -> None:
        """Fail the batch."""
        raise error


_NOTHING = _NoOrigin()


def origin_of(cursor: Cursor, failed: RecordFailed) -> Origin:
    """Return the present record's origin."""
    if cursor.rows is None:
        return _NOTHING
    stream, row = cursor.rows.present()
    return _RowOrigin(stream.queue, row, stream.keys[row], failed)
