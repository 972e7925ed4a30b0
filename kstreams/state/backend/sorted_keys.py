"""An index of keys in bytewise order, which sorts no keys before the first scan."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator

__all__ = ("SortedKeys",)

_FIRST_KEYS = 32
_CHUNK_KEYS = 1024
_MERGE_FRACTION = 8


class SortedKeys:
    """Keys in ascending order: a long sorted run, a short sorted run, and unsorted keys.

    `add` only collects keys. A scan sorts these keys into the short run, and merges the short run
    into the long run when it has grown to an eighth of the long run: so the number of comparisons
    per key is constant, for any sequence of scans and additions. Runs are replaced, never changed:
    an open iterator keeps its runs.
    """

    __slots__ = ("_long", "_marked", "_short")

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        self._long: list[bytes] = sorted(keys)
        self._short: list[bytes] = []
        self._marked: list[bytes] = []

    def __len__(self) -> int:
        return len(self._long) + len(self._short) + len(self._marked)

    def add(self, keys: list[bytes]) -> None:
        """Add keys that the index does not have yet, in any order."""
        self._marked.extend(keys)

    def chunks(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[list[bytes]]:
        """Yield the keys with `start <= key < end` in order, in lists of 32 to 1024 keys.

        A scan that ends early costs only the keys that it has yielded. Keys that are added after
        the first list are not included.
        """
        self._settle()
        long, short = self._long, self._short
        low = 0 if start is None else bisect_left(long, start)
        high = len(long) if end is None else bisect_left(long, end)
        low_short = 0 if start is None else bisect_left(short, start)
        high_short = len(short) if end is None else bisect_left(short, end)
        if low >= high:
            yield _merged([], short[low_short:high_short], reverse=reverse)
            return
        for cut, stop in _spans(low, high, reverse=reverse):
            first = low_short if cut == low else bisect_left(short, long[cut])
            last = high_short if stop == high else bisect_left(short, long[stop])
            yield _merged(long[cut:stop], short[first:last], reverse=reverse)

    def _settle(self) -> None:
        if self._marked:
            self._short = sorted(self._short + self._marked)
            self._marked = []
        if len(self._short) * _MERGE_FRACTION > len(self._long):
            self._long = sorted(self._long + self._short)
            self._short = []


def _spans(low: int, high: int, *, reverse: bool) -> Iterator[tuple[int, int]]:
    """Divide the positions `low` to `high` into adjacent ranges; the size doubles up to a limit.

    With `reverse`, the ranges begin at `high`.
    """
    size = _FIRST_KEYS
    while low < high:
        if reverse:
            yield max(low, high - size), high
            high -= size
        else:
            yield low, min(low + size, high)
            low += size
        size = min(2 * size, _CHUNK_KEYS)


def _merged(left: list[bytes], right: list[bytes], *, reverse: bool) -> list[bytes]:
    keys = sorted(left + right) if right else left
    if reverse:
        keys.reverse()
    return keys
