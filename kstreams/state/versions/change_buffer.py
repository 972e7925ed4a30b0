"""The changes of small batches in one store since its open version was last written."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from kstreams.state.backend.key_ranges import covers, united
from kstreams.state.backend.sorted_keys import SortedKeys
from kstreams.state.backend.working import Changes, KeyRange, Pair, StoreChanges

__all__ = ("ChangeBuffer", "memory_bytes", "memory_of")

_PAIR_BYTES = 200
"""The approximate overhead of a pair: two objects, a dict entry and an index entry."""


class ChangeBuffer:
    """Changes in memory on top of a store's rows: deleted ranges, and then values of single keys.

    Attributes:
        values: Values by key; None for a key that was deleted, alone or by a range.
        ranges: Deleted ranges of the stored rows, ascending and disjoint.
        size_bytes: The approximate memory of the pairs.
        rows: The number of keys with a value, minus the number of deleted keys.
    """

    __slots__ = ("_index", "ranges", "rows", "size_bytes", "values")

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        self.ranges: tuple[KeyRange, ...] = ()
        self.size_bytes = 0
        self.rows = 0
        self._index = SortedKeys()

    def apply(self, changes: StoreChanges) -> None:
        """Apply the changes of a batch."""
        for start, end in changes.ranges:
            for keys in self._index.chunks(start, end):
                self._put([(key, None) for key in keys])
            self.ranges = united(self.ranges, (start, end))
        self._index.add([key for key, _ in changes.pairs if key not in self.values])
        self._put(changes.pairs)

    def _put(self, pairs: Sequence[Pair]) -> None:
        values = self.values
        for key, value in pairs:
            if key in values:
                before = values[key]
                self.size_bytes -= len(before or b"")
                self.rows -= -1 if before is None else 1
            else:
                self.size_bytes += len(key) + _PAIR_BYTES
            self.size_bytes += len(value or b"")
            self.rows += -1 if value is None else 1
            values[key] = value

    def is_in_deleted_range(self, key: bytes) -> bool:
        """Return whether a key that is not in `values` is in a deleted range."""
        return bool(self.ranges) and covers(self.ranges, key)

    def scan(self, start: bytes | None, end: bytes | None, *, reverse: bool) -> Iterator[Pair]:
        """Yield the buffered pairs with `start <= key < end` in order, including deletions."""
        values = self.values
        for keys in self._index.chunks(start, end, reverse=reverse):
            for key in keys:
                yield key, values[key]

    def changes(self) -> StoreChanges:
        """Return all buffered changes, as if one batch had made them."""
        pairs = [
            (key, value)
            for key, value in self.scan(None, None, reverse=False)
            if value is not None or not self.is_in_deleted_range(key)
        ]
        return StoreChanges(pairs, self.ranges)


def memory_of(changes: Changes) -> int:
    """Return the approximate memory of the changes of all stores, in bytes."""
    return sum(memory_bytes(changed, sys.maxsize) for changed in changes.values())


def memory_bytes(changes: StoreChanges, most: int) -> int:
    """Return the approximate memory of changes (bytes); a rough lower bound if above `most`."""
    if (least := len(changes.pairs) * _PAIR_BYTES) > most:
        return least
    return least + sum(len(key) + len(value or b"") for key, value in changes.pairs)
