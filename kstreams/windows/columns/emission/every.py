"""Columns of results that are buffered until the end of their interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._types import Ints
from kstreams.columns.keys import KeyCodes
from kstreams.serde.layout import Columns
from kstreams.state.stores.emit_buffer.columns import EmitBufferColumns, Taken
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.windows.rules import interval_end

__all__ = ("Changes", "IntervalColumns")


@dataclass(frozen=True)
class Changes:
    """New states of windows, one for each record and window, in the order of arrival.

    Attributes:
        now: Stream time as of each record, ms.
        starts: Starts of the windows, ms.
        ends: Ends of the windows, ms.
        codes: The key number of each change.
        keys: The distinct keys, numbered.
        state: The timestamps, then the columns of the states.
    """

    now: Ints
    starts: Ints
    ends: Ints
    codes: Ints
    keys: KeyCodes
    state: Columns

    def take(self, rows: npt.NDArray[Any]) -> Changes:
        """Return the changes at the given rows."""
        state = tuple(column[rows] for column in self.state)
        arrays = (self.now[rows], self.starts[rows], self.ends[rows], self.codes[rows])
        return Changes(*arrays, self.keys, state)

    def last_of_each(self, interval_ms: int) -> Changes:
        """Return the last change of each interval, window and key, sorted in this order."""
        dues = interval_end(self.now, interval_ms)
        order = np.lexsort((self.codes, self.starts, dues))
        handles = np.stack((dues, self.starts, self.codes))[:, order]
        differ = (handles[:, 1:] != handles[:, :-1]).any(axis=0)
        return self.take(order[np.append(differ, True)])

    def taken(self) -> Taken:
        """Return the starts, ends, keys and states of the changes, for forwarding."""
        return self.starts, self.ends, self.keys.typed.take(pa.array(self.codes)), self.state


class IntervalColumns:
    """The columnar implementation of `IntervalEmitter`.

    Stores only changes whose interval does not end within the table that contains them.

    Args:
        store: The store of buffered changes.
        interval_ms: The length of an interval, ms.
        now: The current stream time, ms.
        forward: Forwards states, with the stream time (ms) of each.
    """

    def __init__(
        self,
        store: EmitBufferRows[Any, Any],
        interval_ms: int,
        now: int,
        forward: Callable[[Taken, Ints], None],
    ) -> None:
        store.bring_forward(interval_end(now, interval_ms))
        self._store = EmitBufferColumns(store)
        self._interval = interval_ms
        self._forward = forward

    def take(self, stream: Ints, changes: Changes | None) -> None:
        """Forward the changes of intervals that end within a table, and buffer the rest.

        Args:
            stream: The stream time as of each record of the table, ms; at least one record.
            changes: The changes that the records cause, if any.
        """
        self.release(int(stream[0]))
        own = None if changes is None else changes.last_of_each(self._interval)
        first, now = interval_end(int(stream[0]), self._interval), int(stream[-1])
        if first <= now and not self._store.is_empty():
            if own is not None:
                dues = interval_end(own.now, self._interval)
                self._put(own.take(dues == first))
                own = own.take(dues != first)
            self.release(first, int(stream[np.searchsorted(stream, first)]))
        if own is None or not len(own.now):
            return
        dues = interval_end(own.now, self._interval)
        over = dues <= now
        if over.any():
            self._forward(own.take(over).taken(), stream[np.searchsorted(stream, dues[over])])
        self._put(own.take(~over))

    def release(self, due_ms: int | None, now: int | None = None) -> None:
        """Forward the stored changes that are due.

        Args:
            due_ms: The time (ms) by which changes are due; None forwards all changes.
            now: The stream time of the forwarded results, ms; `due_ms` by default.
        """
        found = self._store.take_until(due_ms)
        if found is not None:
            seen = due_ms if now is None else now
            self._forward(found, np.full(len(found[0]), seen or 0, np.int64))

    def _put(self, changes: Changes) -> None:
        """Buffer changes of one interval."""
        if len(changes.now):
            due = int(interval_end(changes.now[0], self._interval))
            keys = changes.keys.stored.take(pa.array(changes.codes))
            self._store.put(due, changes.starts, changes.ends, keys, changes.state)
