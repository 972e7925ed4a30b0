"""The effect of time on a stream join: unmatched results, and deletion of expired records."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from itertools import count, islice
from typing import Any

from kstreams.joins.joiner import Joiner
from kstreams.processors.context import ProcessorContext
from kstreams.record import Headers, Record
from kstreams.state.stores.join.coding import CLOCKS, WAITING
from kstreams.state.stores.join.rows import JoinRows, Open
from kstreams.state.stores.join.setup import NO_CLOCKS, Setup
from kstreams.times import FAR_MS

__all__ = ("Closing",)

_READ_AT_ONCE = 4096
"""Maximum number of entries read at once."""
_PARTS = 8
"""Entries are read ahead for the waiting time divided by this number."""

_Entry = tuple[int, int, int, int, int, Any, Headers]
"""Closing time, side, time, number, a tie-breaker, key and headers of a waiting record, as in
`Open`. Because of the tie-breaker, keys are never compared.
"""

_Closed = tuple[int, int, int]
"""Undo information of one call of `Closing.close`: the length of `_closed`, `_done` (ms) and `next`
(ms) before the call. It consists of integers only, so the garbage collector does not track it.
"""

_Held = _Entry | _Closed | None


class Closing:
    """Forwards unmatched records whose windows have closed, and deletes expired records.

    An index in the store has an entry for each record that waits for a partner, by closing time.
    Entries of the batch's records are in memory until the end of the batch, when entries of records
    that still wait are stored, and expired rows are deleted. So a record that closes no window
    costs one comparison, and an entry whose window closes within the batch is never stored.

    Args:
        rows: The rows of the join's store.
        setup: The join's time spans.
        joiner: Creates results; its kind determines which sides have unmatched results.
        context: The context of the join.

    Attributes:
        keeps: Whether the left and the right side have unmatched results.
        setup: The join's time spans.
        forgets_at: For each side, the earliest time (ms) of a new record that makes more stored
            rows of this side expire.
        next: Stream time (ms) up to which no window closes.
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
        self._hold = context.hold(self._release, self._undo)
        self._ahead = max(1, setup.memory // _PARTS)
        self._heap: list[_Entry] = []
        self._closed: list[_Entry] = []  # taken from the heap in this batch
        self._count = count(1)
        self._until = self._done = -FAR_MS  # stored entries are read, and all are taken, so far
        self.next = -FAR_MS if any(self.keeps) else FAR_MS

    def wait(self, side: int, number: int, record: Record[Any, Any]) -> None:
        """Add a stored record that waits for a partner to the index of waiting records.

        Args:
            side: 0 for left, 1 for right.
            number: The record's number in the store.
            record: The waiting record.
        """
        time = record.timestamp
        close = time + self._delays[side]
        entry = (close, side, time, number, next(self._count), record.key, record.headers)
        heappush(self._heap, entry)
        self._hold(entry)
        if close < self.next:
            self.next = close

    def close(self, now: int) -> None:
        """Forward the unmatched results of windows that end before a stream time, ms.

        Results are ordered by closing time, side, record time and arrival.
        """
        if now <= self.next:
            return
        closed = self._closed
        self._hold((len(closed), self._done, self.next))
        rows, heap, width, keeps = self._rows, self._heap, self.setup.width, self.keeps
        overlay, function, forward = rows.overlay, self._function, self._forward
        number, left, right, final_left, final_right = overlay.get(CLOCKS) or NO_CLOCKS
        final = final_left, final_right
        before: _Entry | None = None
        while (due := self._due(now)) < now:
            entry = heappop(heap)
            closed.append(entry)
            _, side, time, own_number, _, key, headers = entry
            # Those of stored entries may be here already, as they were put.
            again = (
                before is not None
                and before[3] == own_number
                and before[:3] == entry[:3]
                and before[5] == key
            )
            before = entry
            if again or not keeps[side] or time < final[side]:
                continue
            element = rows.find(side, time // width, key, time, own_number)
            if element is not None and element[2] == WAITING:
                sides = (None, element[3]) if side else (element[3], None)
                forward(Record(key, function(*sides), time, headers))
        self._done = max(self._done, now)
        self.next = min(due, self._until)
        left_delay, right_delay = self._delays
        final_left = max(final_left, now - left_delay)
        final_right = max(final_right, now - right_delay)
        overlay.put(CLOCKS, (number, left, right, final_left, final_right))

    def close_all(self) -> None:
        """Forward the unmatched results of all windows."""
        stored = self._rows.last_close()
        last = max((entry[0] for entry in self._heap), default=self._done - 1)
        last = last if stored is None else max(last, stored)
        if last >= self._done:
            self.close(last + 1)

    def note(self) -> None:
        """Arrange that expired rows are deleted at the end of the batch."""
        self._hold(None)

    def _undo(self, held: Sequence[_Held]) -> None:
        """Undo the calls of `close` that a failed record caused, the last call first."""
        for each in reversed(held):
            if each is not None and len(each) == 3:  # `_Closed`
                kept, self._done, self.next = each
                for entry in self._closed[kept:]:
                    heappush(self._heap, entry)
                del self._closed[kept:]

    def _release(self, held: Sequence[_Held]) -> None:
        """Store the index entries of records that still wait, and delete expired rows.

        Called at the end of the batch.

        Args:
            held: The index entries of the batch's waiting records, and undo information.
        """
        for entry in held:
            if entry is not None and len(entry) == 7 and entry[0] >= self._done:
                self._rows.put_open(Open(*entry[:4], *entry[5:]))
        self._closed.clear()
        clocks, setup = self._rows.clocks(), self.setup
        # All of a bucket before these has closed before the newest record of its side.
        newest = clocks.newest_left, clocks.newest_right
        left, right = ((time - setup.memory) // setup.width for time in newest)
        self._rows.forget((left, right), self._done)
        self.forgets_at[:] = [(end + 1) * setup.width + setup.memory for end in (left, right)]

    def _due(self, end: int) -> int:
        """Return the closing time (ms) of the next window, exact if it is before `end`."""
        heap = self._heap
        while True:
            due = heap[0][0] if heap else FAR_MS
            if self._until >= end or due < self._until:
                return due
            self._read(end)

    def _read(self, end: int) -> None:
        """Load the index entries with the next closing times from the store into the heap.

        Reads up to some time after `end` (ms), or less if there are many entries.
        """
        start, until = self._until, end + self._ahead
        found = list(islice(self._rows.stored_entries(start, until), _READ_AT_ONCE))
        if len(found) == _READ_AT_ONCE:
            until = found[-1].close
            if found[0].close == until:
                until += 1
                found = list(self._rows.stored_entries(start, until))
        for close, side, time, number, key, headers in found:
            if close < until:
                entry = (close, side, time, number, next(self._count), key, headers)
                heappush(self._heap, entry)
        self._until = until
