"""What a join of streams does as time goes on: records without a partner go out, old ones go."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any

from kstreams.joins.joiner import Joiner
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.join.coding import CLOCKS, WAITING
from kstreams.state.stores.join.rows import JoinRows, Open
from kstreams.state.stores.join.setup import NO_CLOCKS, Setup
from kstreams.times import FAR_MS

__all__ = ("Closing",)

_READ_AT_ONCE = 4096
"""Entries that are read at once."""
_PARTS = 8
"""Of the time that an entry waits, what is read ahead is about this part."""

_Entry = tuple[int, int, int, int, int, Any]
"""Closing, side, time, number and key of a waiting record, as in `Open`; before the key a number
of its own, so that keys are not compared."""


class Closing:
    """Forwards what has closed without a partner, and forgets what no record can meet.

    The entries of a batch's records are in memory; those that wait on at its end are stored
    then, and what is over is deleted then. So a record that makes nothing due costs a
    comparison, and one that has come and gone in one batch leaves no trace.

    Args:
        rows: What the join remembers.
        setup: Its spans.
        joiner: Makes results, and says of which sides records go out alone.
        context: Of the join.

    Attributes:
        keeps: Whether records of a side go out alone, left and right.
        setup: Its spans.
        forgets_at: The newest record (ms) of each side from which on there is more to forget.
    """

    def __init__(
        self,
        rows: JoinRows[Any, Any, Any],
        setup: Setup,
        joiner: Joiner[Any, Any, Any, Any],
        context: ProcessorContext[Any, Any],
    ) -> None:
        self.keeps = joiner.keeps(left=True), joiner.keeps(left=False)
        self._delays = setup.close(0, 0), setup.close(1, 0)
        self.setup = setup
        self.forgets_at = [-FAR_MS, -FAR_MS]
        self._rows = rows
        self._function = joiner.function
        self._forward = context.forward
        self._hold = context.hold(self._release)
        self._ahead = max(1, setup.memory // _PARTS)
        self._heap: list[_Entry] = []
        self._count = count(1)
        self._until = self._done = -FAR_MS  # stored entries are read, and all are taken, so far
        self._next = -FAR_MS  # nothing is due before this time, ms

    def wait(self, side: int, time_ms: int, number: int, key: object) -> None:
        """Let a record wait that was put into the store just now."""
        close = time_ms + self._delays[side]
        entry = (close, side, time_ms, number, next(self._count), key)
        heappush(self._heap, entry)
        self._hold(entry)
        if close < self._next:
            self._next = close

    def close(self, now: int) -> None:
        """Forward what has closed by a stream time, ms: `now` is after the end of its grace."""
        if now <= self._next:
            return
        self.note()
        rows, heap, width, keeps = self._rows, self._heap, self.setup.width, self.keeps
        overlay, function, forward = rows.overlay, self._function, self._forward
        number, *newest, final_left, final_right = overlay.get(CLOCKS) or NO_CLOCKS
        final = final_left, final_right
        before: _Entry | None = None
        while (due := self._due(now)) < now:
            entry = heappop(heap)
            _, side, time, own_number, _, key = entry
            # Those of stored entries may be here already, as they were put.
            again = before is not None and before[:4] == entry[:4] and before[5] == key
            before = entry
            if again or not keeps[side] or time < final[side]:
                continue
            element = rows.find(side, time // width, key, time, own_number)
            if element is not None and element[2] == WAITING:
                sides = (None, element[3]) if side else (element[3], None)
                forward(Record(key, function(*sides), time))
        self._done = max(self._done, now)
        self._next = min(due, self._until)
        past = [max(final[side], now - self._delays[side]) for side in (0, 1)]
        overlay.put(CLOCKS, (number, *newest, *past))

    def close_all(self) -> None:
        """Forward all that waits for a partner."""
        stored = self._rows.last_close()
        last = max((entry[0] for entry in self._heap), default=self._done - 1)
        last = last if stored is None else max(last, stored)
        if last >= self._done:
            self.close(last + 1)

    def note(self) -> None:
        """Have what is over deleted at the batch's end."""
        self._hold(None)

    def _release(self, held: Sequence[_Entry | None]) -> None:
        """Store the entries that wait on, and delete what is over."""
        for entry in held:
            if entry is not None and entry[0] >= self._done:
                self._rows.put_open(Open(*entry[:4], entry[5]))
        clocks, setup = self._rows.clocks(), self.setup
        # All of a bucket before these has closed before the newest record of its side.
        newest = clocks.newest_left, clocks.newest_right
        left, right = ((time - setup.memory) // setup.width for time in newest)
        self._rows.forget((left, right), self._done)
        self.forgets_at[:] = [(end + 1) * setup.width + setup.memory for end in (left, right)]

    def _due(self, end: int) -> int:
        """Return when the next one closes, ms, as far as that is before a time."""
        heap = self._heap
        while True:
            due = heap[0][0] if heap else FAR_MS
            if self._until >= end or due < self._until:
                return due
            self._read(end)

    def _read(self, end: int) -> None:
        """Read on among the entries that were stored before."""
        start, until = self._until, end + self._ahead
        found = list(islice(self._rows.stored_entries(start, until), _READ_AT_ONCE))
        if len(found) == _READ_AT_ONCE:
            until = found[-1].close
            if found[0].close == until:
                until += 1
                found = list(self._rows.stored_entries(start, until))
        for close, side, time, number, key in found:
            if close < until:
                heappush(self._heap, (close, side, time, number, next(self._count), key))
        self._until = until
