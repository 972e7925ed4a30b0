"""Sorted, disjoint ranges of keys; the start is inclusive, the end exclusive."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from kstreams.state.backend.working import KeyRange, Pair

__all__ = ("all_covered", "covers", "gaps", "united", "without_deletions")

_start = itemgetter(0)
_end = itemgetter(1)


def covers(ranges: Sequence[KeyRange], key: bytes) -> bool:
    """Return whether a key lies in one of the ranges."""
    place = bisect_right(ranges, key, key=_start)
    return place > 0 and key < ranges[place - 1][1]


def all_covered(ranges: Sequence[KeyRange], keys: Sequence[bytes]) -> list[bool]:
    """Return, for each key, whether it lies in one of the ranges; fast for a single range."""
    if len(ranges) == 1:
        start, end = ranges[0]
        return [start <= key < end for key in keys]
    return [covers(ranges, key) for key in keys]


def without_deletions(pairs: list[Pair], ranges: Sequence[KeyRange]) -> list[Pair]:
    """Return the pairs, except pairs with the value None whose keys lie in the deleted ranges."""
    key, kept, done = itemgetter(0), list[Pair](), 0
    for start, end in ranges:
        low, high = bisect_left(pairs, start, key=key), bisect_left(pairs, end, key=key)
        kept += pairs[done:low]
        kept += [pair for pair in pairs[low:high] if pair[1] is not None]
        done = high
    return kept + pairs[done:] if ranges else pairs


def united(ranges: Sequence[KeyRange], added: KeyRange) -> tuple[KeyRange, ...]:
    """Return the ranges with an added range; overlapping and adjacent ranges are merged."""
    start, end = added
    low, high = bisect_left(ranges, start, key=_end), bisect_right(ranges, end, key=_start)
    if low < high:
        start, end = min(start, ranges[low][0]), max(end, ranges[high - 1][1])
    return (*ranges[:low], (start, end), *ranges[high:])


def gaps(
    ranges: Sequence[KeyRange], start: bytes | None, end: bytes | None
) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Yield the parts of `start <= key < end` outside the ranges, in order; None is unbounded."""
    for low, high in ranges:
        if end is not None and end <= low:
            break
        if start is not None and high <= start:
            continue
        if low > (start or b""):
            yield start, low
        start = high
    if end is None or (start or b"") < end:
        yield start, end
