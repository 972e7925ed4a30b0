"""The records that go out by themselves if no partner comes, in the order of closing."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import Any

from kstreams.state.stores.join.rows import JoinRows, Open, Setup
from kstreams.times import FAR_MS

__all__ = ("OpenRecords",)

_READ_AT_ONCE = 4096
"""Entries that are read at once."""
_PARTS = 8
"""Of the time that a record waits, what is read ahead is about this part."""


class OpenRecords:
    """Takes records that wait, and returns those that have closed.

    The next few are in memory, so that a record that closes nothing costs a comparison, and
    one that does no scan. What has gone out is told by the clocks of the store, so entries
    are deleted by and by, as ranges.

    Args:
        rows: Where they are.
        setup: The spans of the join.
    """

    def __init__(self, rows: JoinRows[Any, Any, Any], setup: Setup) -> None:
        self._rows = rows
        self._put = rows.overlay.put
        self._ahead = max(1, (setup.memory) // _PARTS)
        self._heap: list[Open] = []  # the entries before `_until`
        self._until = -FAR_MS
        self.next = -FAR_MS
        """No record closes as long as stream time is not above this, ms."""

    def put(self, entry: Open) -> None:
        """Take a record that waits."""
        self._put((2, *entry), ())
        if entry.close < self._until:
            heappush(self._heap, entry)
            self.next = min(self.next, entry.close)

    def take(self, now: int) -> Iterator[Open]:
        """Take and yield entries with `close < now`, in order; some may be there no more."""
        last = None
        while True:
            if self._heap and self._heap[0].close < now:
                entry = heappop(self._heap)
                if entry != last:
                    yield entry
                last = entry
            elif self._until < now:
                self._read(now)
            else:
                break
        self.next = self._heap[0].close if self._heap else self._until

    def _read(self, now: int) -> None:
        """Read on; all that was read before has been taken."""
        rows, start, end = self._rows, self._until, now + self._ahead
        rows.drop_open(start)
        found = list(islice(rows.open_entries(start, end), _READ_AT_ONCE))
        if len(found) == _READ_AT_ONCE:
            end = found[-1].close
            if found[0].close == end:
                end += 1
                found = list(rows.open_entries(start, end))
            found = [entry for entry in found if entry.close < end]
        self._heap, self._until = found, end
