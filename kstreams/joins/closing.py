"""What a join of streams does as time goes on: records without a partner go out, old ones go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Any

from kstreams.joins.joiner import Joiner
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.join.coding import WAITING
from kstreams.state.stores.join.rows import JoinRows, Open
from kstreams.state.stores.join.setup import Setup
from kstreams.times import FAR_MS

__all__ = ("Closing",)

_READ_AT_ONCE = 4096
"""Entries that are read at once."""
_PARTS = 8
"""Of the time that an entry waits, what is read ahead is about this part."""


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
        self.setup = setup
        self.forgets_at = [-FAR_MS, -FAR_MS]
        self._rows = rows
        self._function = joiner.function
        self._forward = context.forward
        self._hold = context.hold(self._release)
        self._ahead = max(1, setup.memory // _PARTS)
        self._heap: list[tuple[Any, int, Open]] = []
        self._count = 0
        self._until = self._done = -FAR_MS  # stored entries are read, and all are taken, so far
        self._next = -FAR_MS  # nothing is due before this time, ms

    def wait(self, side: int, time_ms: int, number: int, key: object) -> None:
        """Let a record wait that was put into the store just now."""
        entry = Open(self.setup.close(side, time_ms), side, time_ms, number, key)
        self._push(entry)
        self._hold(entry)
        self._next = min(self._next, entry.close)

    def close(self, now: int) -> None:
        """Forward what has closed by a stream time, ms: `now` is after the end of its grace."""
        if now <= self._next:
            return
        self.note()
        rows, setup = self._rows, self.setup
        clocks = rows.clocks()
        final = clocks.final_left, clocks.final_right
        for entry in self._take(now):
            side, time = entry.side, entry.time
            if self.keeps[side] and time >= final[side]:
                element = rows.find(time // setup.width, entry)
                if element is not None and element[2] == WAITING:
                    value = element[3]
                    sides = (None, value) if side else (value, None)
                    self._forward(Record(entry.key, self._function(*sides), time))
        past = [max(final[side], now - setup.close(side, 0)) for side in (0, 1)]
        rows.set_clocks(clocks._replace(final_left=past[0], final_right=past[1]))

    def close_all(self) -> None:
        """Forward all that waits for a partner."""
        stored = self._rows.last_close()
        last = max((entry.close for _, _, entry in self._heap), default=self._done - 1)
        last = last if stored is None else max(last, stored)
        if last >= self._done:
            self.close(last + 1)

    def note(self) -> None:
        """Have what is over deleted at the batch's end."""
        self._hold(None)

    def _release(self, held: Sequence[Open | None]) -> None:
        """Store the entries that wait on, and delete what is over."""
        for entry in held:
            if entry is not None and entry.close >= self._done:
                self._rows.put_open(entry)
        clocks, setup = self._rows.clocks(), self.setup
        # All of a bucket before these has closed before the newest record of its side.
        newest = clocks.newest_left, clocks.newest_right
        left, right = ((time - setup.memory) // setup.width for time in newest)
        self._rows.forget((left, right), self._done)
        self.forgets_at[:] = [(end + 1) * setup.width + setup.memory for end in (left, right)]

    def _take(self, end: int) -> Iterator[Open]:
        """Take and yield what is due before a time (ms), in order; some may hold no more."""
        last, heap = None, self._heap
        while True:
            due = heap[0][0][0] if heap else FAR_MS
            if self._until < end and due >= self._until:
                self._read(end)
            elif due < end:
                entry = heappop(heap)[2]
                if entry != last:
                    yield entry
                last = entry
            else:
                break
        self._done = max(self._done, end)
        self._next = min(due, self._until)

    def _read(self, end: int) -> None:
        """Read on among the entries that were stored before."""
        start, until = self._until, end + self._ahead
        found = list(islice(self._rows.stored_entries(start, until), _READ_AT_ONCE))
        if len(found) == _READ_AT_ONCE:
            until = found[-1].close
            if found[0].close == until:
                until += 1
                found = list(self._rows.stored_entries(start, until))
        for entry in found:
            if entry.close < until:
                self._push(entry)
        self._until = until

    def _push(self, entry: Open) -> None:
        self._count += 1  # so that keys are not compared
        heappush(self._heap, (entry[:-1], self._count, entry))
