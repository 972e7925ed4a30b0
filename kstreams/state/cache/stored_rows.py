"""The rows of one store in a working store, without the ranges that an attempt has deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from kstreams.state.backend.key_ranges import covers, gaps, united
from kstreams.state.backend.working import KeyRange, WorkingStore

__all__ = ("StoredRows",)


class StoredRows:
    """Reads encoded rows; keys in deleted ranges are absent, without a read of the backend.

    Args:
        base: The working store.
        store: Name of the store.

    Attributes:
        deleted: The deleted ranges, ascending and disjoint.
    """

    def __init__(self, base: WorkingStore, store: str) -> None:
        self.deleted: tuple[KeyRange, ...] = ()
        self._base = base
        self._store = store

    def delete(self, start: bytes, end: bytes) -> None:
        """Delete all keys with `start <= key < end`."""
        self.deleted = united(self.deleted, (start, end))

    def is_deleted(self, key: bytes) -> bool:
        """Return whether a key lies in a deleted range."""
        return bool(self.deleted) and covers(self.deleted, key)

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the key does not exist."""
        return None if self.is_deleted(key) else self._base.get(self._store, key)

    def multi_get(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in the order of the keys; reads the backend once."""
        if not self.deleted:
            return self._base.multi_get(self._store, keys)
        left = [key for key in keys if not covers(self.deleted, key)]
        found = dict(zip(left, self._base.multi_get(self._store, left), strict=True))
        return [found.get(key) for key in keys]

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield pairs with `start <= key < end` in order."""
        if not self.deleted:
            return self._base.scan(self._store, start, end, reverse=reverse)
        parts = list(gaps(self.deleted, start, end))
        if reverse:
            parts.reverse()
        scan = self._base.scan
        return chain.from_iterable(
            [scan(self._store, low, high, reverse=reverse) for low, high in parts]
        )

    def count(self) -> int:
        """Return the approximate number of keys; keys of deleted ranges are counted one by one."""
        scans = (self._base.scan(self._store, start, end) for start, end in self.deleted)
        return self._base.count(self._store) - sum(1 for _ in chain.from_iterable(scans))
