"""The origin of a record, for a failure that is found during the processing of other records."""

from __future__ import annotations

from collections.abc import Callable

from kstreams.processors.context import Origin
from kstreams.task.progress.cursor import Cursor
from kstreams.task.records.queues import Queue

__all__ = ("RecordFailed", "origin_of")

RecordFailed = Callable[[Queue, int, object, BaseException], None]
"""Applies the policy to a failed record: queue, row, the decoded key, and the error."""


class _RowOrigin:
    """The origin of records and held items (`BatchHold`) that a row of a queue has caused."""

    def __init__(self, queue: Queue, row: int, key: object, failed: RecordFailed) -> None:
        self._row = queue, row, key
        self._failed = failed

    def fail(self, error: BaseException) -> None:
        """Apply the policy of the source to the record."""
        self._failed(*self._row, error)


class _NoOrigin:
    """The origin of records and held items that a punctuator has caused, not an input record."""

    def fail(self, error: BaseException) -> None:
        """Raise the error, which fails the batch."""
        raise error


_NOTHING = _NoOrigin()


def origin_of(cursor: Cursor, failed: RecordFailed) -> Origin:
    """Return the origin of the current record, or else the origin that fails the batch."""
    if cursor.rows is None:
        return _NOTHING
    stream, row = cursor.rows.present()
    return _RowOrigin(stream.queue, row, stream.keys[row], failed)
