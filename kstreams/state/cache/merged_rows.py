"""The rows of a store in key order: the stored rows with the puts of an attempt."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any, Final

from kstreams.state.cache.row_coding import RowCoding
from kstreams.state.cache.stored_rows import StoredRows
from kstreams.state.cache.written_keys import WrittenKeys

__all__ = ("MergedRows",)

_STEPS = 24
"""The number of pairs to skip one by one before the backend seeks instead."""
_MISSING: Final = object()
"""The marker for "not in this cache"; None means that the key is known to have no value."""


class MergedRows:
    """Scans a store's rows in key order; see `StoreOverlay` for handles and the two caches.

    Args:
        dirty: The put rows, by handle.
        clean: The read rows, by handle.
        stored: The rows of the backend.
        order: The encoded keys of `dirty`, sorted.
        coding: Encodes and decodes rows.
        by_object: Whether handles are keys as objects; otherwise handles are encoded keys.
        objects: Whether the caches contain values as objects; otherwise encoded values.
    """

    def __init__(
        self,
        dirty: Mapping[Any, Any],
        clean: Mapping[Any, Any],
        stored: StoredRows,
        order: WrittenKeys,
        coding: RowCoding,
        *,
        by_object: bool,
        objects: bool,
    ) -> None:
        self._dirty = dirty
        self._clean = clean
        self._stored = stored
        self._order = order
        self._coding = coding
        self._by_object = by_object
        self._objects = objects

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[Any, Any]]:
        """Return an iterator over decoded pairs with `start <= key bytes < end`, in order.

        The iterator has the keys that have a value at the call, with their current values; deleted
        keys are omitted.
        """
        written = self._order.within(start, end)
        if reverse:
            written.reverse()
        dirty, handle = self._dirty, self._order.handle
        gone = {data for data in written if dirty[handle(data)] is None}
        own = [data for data in written if data not in gone] if gone else written
        stored = self._stored.scan(start, end, reverse=reverse)
        return self._merged(own, gone, stored, reverse=reverse)

    def scan_encoded(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the iterator of `scan`, with encoded pairs; the caches must contain bytes."""
        written = self._order.within(start, end)
        if reverse:
            written.reverse()
        stored = self._stored.scan(start, end, reverse=reverse)
        if not written:
            return stored
        known, dirty = set(written), self._dirty
        own = [(key, value) for key in written if (value := dirty[key]) is not None]
        others = (pair for pair in stored if pair[0] not in known)
        return merge(own, others, key=itemgetter(0), reverse=reverse)

    def scan_ranges(
        self, ranges: Sequence[tuple[bytes, bytes]]
    ) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield the encoded pairs of several ranges, each with the index of its range.

        The caches must contain bytes. If only few pairs lie between a range and the previous range,
        the scan skips these pairs one by one; otherwise it seeks in the backend.

        Args:
            ranges: The start and end of each range, encoded; ascending and disjoint.
        """
        if not ranges:
            return
        last = ranges[-1][1]
        written = self._order.within(ranges[0][0], last)
        dirty, stored = self._dirty, _Walk(self._stored, last)
        low = high = 0
        for number, (start, end) in enumerate(ranges):
            low = bisect_left(written, start, high)
            high = bisect_left(written, end, low)
            pairs = stored.within(start, end)
            if high > low:
                own = written[low:high]
                known = set(own)
                mine = [(key, value) for key in own if (value := dirty[key]) is not None]
                others = (pair for pair in pairs if pair[0] not in known)
                pairs = merge(mine, others, key=itemgetter(0))
            for key, value in pairs:
                yield number, key, value

    def first(self, start: bytes | None, end: bytes | None) -> bytes | None:
        """Return the first encoded key with `start <= key < end` that has a value, or None."""
        own = next(filter(self._is_put, self._order.walk(start, end)), None)
        stored = self._stored.scan(start, end if own is None else own)
        return next((data for data, _ in stored if self._is_put(data) is not False), own)

    def _is_put(self, data: bytes) -> bool | None:
        """Return whether an encoded key was put (True) or deleted (False); None for neither."""
        found = self._dirty.get(self._order.handle(data, _MISSING), _MISSING)
        return None if found is _MISSING else found is not None

    def _merged(
        self,
        own: list[bytes],
        gone: set[bytes],
        stored: Iterator[tuple[bytes, bytes]],
        *,
        reverse: bool,
    ) -> Iterator[tuple[Any, Any]]:
        place, count = 0, len(own)
        for data, value in stored:
            while place < count and (own[place] > data if reverse else own[place] < data):
                pair = self._pair(own[place], None)
                place += 1
                if pair is not None:
                    yield pair
            if place < count and own[place] == data:
                place += 1
            pair = None if data in gone else self._pair(data, value)
            if pair is not None:
                yield pair
        for data in islice(own, place, None):
            pair = self._pair(data, None)
            if pair is not None:
                yield pair

    def _pair(self, data: bytes, stored: bytes | None) -> tuple[Any, Any] | None:
        """Return an encoded key's pair of key and current value; None if the key has no value.

        `data` is the encoded key, `stored` its encoded value in the backend, or None.
        """
        key = self._order.handle(data, _MISSING) if self._by_object else _MISSING
        if key is _MISSING:
            key = self._coding.key(data)
        handle = key if self._by_object else data
        found = self._dirty.get(handle, _MISSING)
        if found is _MISSING:
            if self._stored.is_deleted(data):
                return None
            found = self._clean.get(handle, _MISSING)
            if found is _MISSING:
                return None if stored is None else (key, self._coding.value(stored, key))
        if found is None:
            return None
        return key, found if self._objects else self._coding.value(found, key)


class _Walk:
    """Reads ascending ranges of a store's rows in the backend, without a new scan for each range.

    Args:
        stored: The rows of the backend.
        last: The end of the final range, up to which the backend is scanned.
    """

    def __init__(self, stored: StoredRows, last: bytes) -> None:
        self._stored = stored
        self._last = last
        self._pairs: Iterator[tuple[bytes, bytes]] | None = None
        self._next: tuple[bytes, bytes] | None = None

    def within(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs of a range; the pairs of the previous range must have been read."""
        self._go_to(start)
        pairs = self._pairs
        while self._next is not None and self._next[0] < end:
            yield self._next
            self._next = None if pairs is None else next(pairs, None)

    def _go_to(self, start: bytes) -> None:
        pairs = self._pairs
        if pairs is not None:
            for _ in range(_STEPS):
                if self._next is None or self._next[0] >= start:
                    return
                self._next = next(pairs, None)
        self._pairs = self._stored.scan(start, self._last)
        self._next = next(self._pairs, None)
