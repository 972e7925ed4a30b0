"""Sort rows so that the rows of one group are adjacent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kstreams._types import Ints
from kstreams.columns.runs import Runs

__all__ = ("Grouped", "grouped")


@dataclass(frozen=True)
class Grouped:
    """Rows sorted by group, and within a group by row number.

    Attributes:
        order: The row numbers in sorted order.
        runs: The groups, as runs of the sorted rows.
    """

    order: Ints
    runs: Runs

    @property
    def first(self) -> Ints:
        """Return the row number of each group's first row."""
        return self.order[self.runs.firsts]

    @property
    def arrival(self) -> Ints:
        """Return the position of each row in sorted order, by row number."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(len(found))
        return found


def grouped(major: Ints, minor: Ints, minors: int) -> Grouped:
    """Group rows by a pair of numbers, sorted by the major number first.

    Args:
        major: The major number of each row, 0 or more.
        minor: The minor number of each row, 0 or more and below `minors`.
        minors: The upper bound of the minor numbers.
    """
    count = len(major)
    row_bits = max(count - 1, 1).bit_length()
    limit = (int(major.max()) + 1) * minors if count else 1
    if limit.bit_length() + row_bits > 63:
        major = np.unique(major, return_inverse=True)[1]
        limit = (int(major.max()) + 1) * minors
    if limit.bit_length() + row_bits > 63:
        order = np.lexsort((minor, major))
        groups = major[order] * minors + minor[order]
    else:
        # Sorting numbers is several times faster than sorting places by them.
        packed = np.sort((major * minors + minor) << row_bits | np.arange(count))
        order = packed & ((1 << row_bits) - 1)
        groups = packed >> row_bits
    changes = np.flatnonzero(groups[1:] != groups[:-1]) + 1
    firsts = np.concatenate((np.zeros(min(count, 1), np.int64), changes))
    return Grouped(order, Runs(firsts, count))
