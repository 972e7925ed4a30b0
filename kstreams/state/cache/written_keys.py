"""The keys that an attempt has put, in the order of their bytes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

__all__ = ("WrittenKeys",)

_FEW = 32


class WrittenKeys:
    """The encoded keys of put rows, in order; keys are only sorted when they are read.

    Args:
        cache: The put rows by handle (see `StoreOverlay`), in the order of first puts.
            Call `forget` after rows were removed from it.
        encode: Returns the encoded keys of handles; None if handles are encoded keys.
    """

    def __init__(
        self, cache: Mapping[Any, Any], encode: Callable[[list[Any]], list[bytes]] | None
    ) -> None:
        self._cache = cache
        self._encode = encode
        self._sorted: list[bytes] = []
        self._handles: dict[bytes, Any] = {}

    def __len__(self) -> int:
        """Return the number of keys that are sorted so far."""
        return len(self._sorted)

    def within(self, start: bytes | None, end: bytes | None) -> list[bytes]:
        """Return the keys with `start <= key < end`, in order."""
        low, high = self._places(start, end)
        return self._sorted[low:high]

    def walk(self, start: bytes | None, end: bytes | None) -> Iterator[bytes]:
        """Yield the keys with `start <= key < end`, in order; put no rows during the iteration."""
        low, high = self._places(start, end)
        return map(self._sorted.__getitem__, range(low, high))

    def handle(self, key: bytes, default: Any = None) -> Any:  # noqa: ANN401  # any handle
        """Return the cached form (handle) of an encoded key; `default` for an unsorted key."""
        return key if self._encode is None else self._handles.get(key, default)

    def forget(self) -> None:
        """Drop all sorted keys; the next read sorts the keys of the cache again."""
        self._sorted = []
        self._handles = {}

    def _places(self, start: bytes | None, end: bytes | None) -> tuple[int, int]:
        fresh = list(islice(self._cache, len(self._sorted), None))
        if fresh:
            encoded = fresh
            if self._encode is not None:
                encoded = self._encode(fresh)
                self._handles.update(zip(encoded, fresh, strict=True))
            if len(encoded) <= _FEW:
                for key in encoded:
                    insort(self._sorted, key)
            else:
                self._sorted = sorted(self._sorted + encoded)
        low = 0 if start is None else bisect_left(self._sorted, start)
        return low, len(self._sorted) if end is None else bisect_left(self._sorted, end)
