"""Find pairs of rows that have the same group and nearby times."""

from __future__ import annotations

import numpy as np

from kstreams._types import Ints

__all__ = ("near_pairs",)

_LIMIT = 1 << 62


class _Ranges:
    """The sorted rows of the right side, and for each left row the range of matching right rows.

    Args:
        left: Groups and times (ms) of the left rows.
        right: Groups and times (ms) of the right rows.
        before: The span (ms) before a left row in which right rows match.
        after: The span (ms) after a left row in which right rows match.
    """

    def __init__(
        self, left: tuple[Ints, Ints], right: tuple[Ints, Ints], before: int, after: int
    ) -> None:
        groups, times = left
        low = int(min(times.min(), right[1].min()))
        high = int(max(times.max(), right[1].max()))
        span = high - low + 1
        if span * (int(max(groups.max(), right[0].max())) + 1) >= _LIMIT:
            # Times far apart, as ranks: as many as there are.
            known, ranks = np.unique(right[1], return_inverse=True)
            first, last = (
                np.searchsorted(known, times - before),
                np.searchsorted(known, times + after, "right") - 1,
            )
            span, packed = len(known) + 1, right[0] * (len(known) + 1) + ranks
        else:
            first = np.maximum(times - before, low) - low
            last = np.minimum(times + after, high) - low
            packed = right[0] * span + (right[1] - low)
        self.order = np.argsort(packed, kind="stable")
        ordered = packed[self.order]
        self.lows = np.searchsorted(ordered, groups * span + first, "left")
        ends = np.searchsorted(ordered, groups * span + last, "right")
        self.counts = np.where(first <= last, np.maximum(ends - self.lows, 0), 0)


def near_pairs(
    left: tuple[Ints, Ints], right: tuple[Ints, Ints], before: int, after: int
) -> tuple[Ints, Ints]:
    """Return the row numbers of all pairs of one group with `-before <= right - left <= after`.

    Args:
        left: Group numbers (0 or more) and times (ms) of the left rows.
        right: Group numbers (0 or more) and times (ms) of the right rows.
        before: The span (ms) before a left row in which right rows match.
        after: The span (ms) after a left row in which right rows match.
    """
    if not len(left[0]) or not len(right[0]):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    ranges = _Ranges(left, right, before, after)
    counts = ranges.counts
    rows = np.repeat(np.arange(len(counts)), counts)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    return rows, ranges.order[np.repeat(ranges.lows, counts) + places]
