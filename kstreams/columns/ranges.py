"""Merge the states of row ranges, which may overlap."""

from __future__ import annotations

from typing import Any

import numpy as np

from kstreams._types import Ints
from kstreams.columns.running import Merging, replaced
from kstreams.serde.layout import Columns

__all__ = ("merged_before", "merged_ranges")


def merged_ranges(form: Merging, state: Columns, lows: Ints, highs: Ints) -> Columns:
    """Merge the states of each range of rows `low <= row < high`; no range is empty.

    A range is divided into blocks whose sizes are the powers of two that sum up to its length, the
    smallest first. The number of steps is the number of binary digits of the longest length,
    however many ranges overlap.
    """
    lengths, places = highs - lows, lows.copy()
    found = tuple(column[lows] for column in state)
    blocks, size = state, 1
    longest = int(lengths.max(initial=0))
    while size <= longest:
        own = lengths & size != 0
        begun = own & (places > lows)
        rows = np.flatnonzero(own & ~begun)
        found = _replaced(found, rows, _taken(blocks, places[rows]))
        rows = np.flatnonzero(begun)
        merged = form.merge(_taken(found, rows), _taken(blocks, places[rows]))
        found = _replaced(found, rows, merged)
        places[own] += size
        size *= 2
        if size <= longest:
            half = size // 2
            last = len(blocks[0]) - half
            blocks = form.merge(
                tuple(column[:last] for column in blocks), tuple(column[half:] for column in blocks)
            )
    return found


def merged_before(form: Merging, state: Columns, lows: Ints, highs: Ints, last: Columns) -> Columns:
    """Merge the states of each range of rows `low <= row < high`, then the range's `last` state.

    A range may be empty: its result is its `last` state.
    """
    rows = np.flatnonzero(highs > lows)
    earlier = merged_ranges(form, state, lows[rows], highs[rows])
    return _replaced(last, rows, form.merge(earlier, _taken(last, rows)))


def _taken(state: Columns, rows: Ints) -> Columns:
    return tuple(column[rows] for column in state)


def _replaced(state: Columns, rows: Ints, new: Columns) -> Columns:
    pairs: Any = zip(state, new, strict=True)
    return tuple(replaced(column, rows, part) for column, part in pairs)
