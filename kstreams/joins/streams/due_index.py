"""Read-ahead buffer for store entries with due times: returns due entries without scans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Generic, TypeVar

from kstreams.times import FAR_MS

__all__ = ("Upcoming",)

E = TypeVar("E", bound="tuple[Any, ...]")
"""Type of an entry: its due time (ms), further sort values, and last a key."""

_READ_AT_ONCE = 4096
"""Maximum number of entries read at once."""
_PARTS = 8
"""Entries are read ahead for the waiting time divided by this number."""


class Upcoming(Generic[E]):
    """Reads store entries with due times in advance, and returns the due entries in order.

    An entry is a tuple that begins with its due time, such as that of a record which waits in a
    queue. The next entries are in memory, so a record that makes no entry due costs one comparison,
    and other records rarely cause a read of the store. The caller checks that an entry is still
    valid, and remembers the time up to which all entries are taken, because entries are deleted
    later, as ranges of times.

    Args:
        read: Yields the stored entries that are due from one time (ms, inclusive) to another
            (exclusive).
        drop: Takes an end (ms) and a start (ms), and deletes the stored entries due from the start
            to before the end.
        wait_ms: Approximate time between the storage of an entry and its due time, ms.
    """

    def __init__(
        self,
        read: Callable[[int, int], Iterator[E]],
        drop: Callable[[int, int], None],
        wait_ms: int,
    ) -> None:
        self._read_stored = read
        self._drop = drop
        self._ahead = max(1, wait_ms // _PARTS)
        self._heap: list[tuple[Any, int, E]] = []  # entries due before `_until`
        self._until = self._dropped = -FAR_MS
        self._count = 0
        self.next = -FAR_MS
        """Nothing is due before this time, ms."""

    def put(self, entry: E) -> None:
        """Add an entry that the caller has just stored."""
        if entry[0] < self._until:
            self._push(entry)
            self.next = min(self.next, entry[0])

    def take(self, end: int) -> Iterator[E]:
        """Yield and remove the entries that are due before a time (ms), in order.

        Some entries may no longer be valid; the caller checks.
        """
        last = None
        while True:
            if self._heap and self._heap[0][0][0] < end:
                entry = heappop(self._heap)[2]
                if entry != last:
                    yield entry
                last = entry
            elif self._until < end:
                self._read(end)
            else:
                break
        self.next = self._heap[0][0][0] if self._heap else self._until

    def _read(self, end: int) -> None:
        """Read the next entries into memory; all entries read earlier have been taken."""
        start, until = self._until, end + self._ahead
        if start > self._dropped:
            self._drop(start, self._dropped)
            self._dropped = start
        found = list(islice(self._read_stored(start, until), _READ_AT_ONCE))
        if len(found) == _READ_AT_ONCE:
            until = found[-1][0]
            if found[0][0] == until:
                until += 1
                found = list(self._read_stored(start, until))
        for entry in found:
            if entry[0] < until:
                self._push(entry)
        self._until = until

    def _push(self, entry: E) -> None:
        self._count += 1  # so that keys are not compared
        heappush(self._heap, (entry[:-1], self._count, entry))
