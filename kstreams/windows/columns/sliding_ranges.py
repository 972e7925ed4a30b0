"""The sliding windows of many keys: each window is a range of consecutive slices of one key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kstreams._types import Ints
from kstreams.state.stores.sliding.columns import SliceRows

__all__ = ("SlidingRanges", "first_slices", "sliding_ranges")


@dataclass(frozen=True)
class SlidingRanges:
    """Distinct windows that contain slices, one per row.

    Attributes:
        owners: The slice that defines each window: the window's last slice, or the slice right
            before the window.
        starts: The start of each window, ms.
        lows: The index of the first slice in each window.
        highs: The index after the last slice in each window.
    """

    owners: Ints
    starts: Ints
    lows: Ints
    highs: Ints

    def take(self, places: npt.NDArray[Any]) -> SlidingRanges:
        """Return the windows at the given indexes."""
        return SlidingRanges(
            self.owners[places], self.starts[places], self.lows[places], self.highs[places]
        )


def sliding_ranges(slices: SliceRows, span: int) -> SlidingRanges:
    """Return the distinct windows that end with a slice, or begin right after a slice.

    Args:
        slices: The slices, sorted by row, then by time.
        span: The time from the start of a window to its end, both inclusive, ms.
    """
    times, places = slices.times, _Places(slices)
    left = np.maximum(times, span) - span
    lows, highs = places.first_from(left), places.after(left + span)
    # Slices before `span` share the window at 0; the first of them represents it.
    own = (left > 0) | (lows == np.arange(len(times)))
    right = times + 1
    low, high = places.first_from(right), places.after(right + span)
    # A window that ends with a slice is that slice's.
    more = (low < high) & (times[high - 1] < right + span)
    numbers = np.arange(len(times))
    return SlidingRanges(
        np.concatenate((numbers[own], numbers[more])),
        np.concatenate((left[own], right[more])),
        np.concatenate((lows[own], low[more])),
        np.concatenate((highs[own], high[more])),
    )


def first_slices(slices: SliceRows, span: int) -> Ints:
    """Return, for each slice, the index of the first slice in the window that ends with it."""
    return _Places(slices).first_from(np.maximum(slices.times, span) - span)


class _Places:
    """Finds slices by time; for each slice, takes a time and searches the slices of its key."""

    def __init__(self, slices: SliceRows) -> None:
        self._each = np.unique(slices.times)
        self._bases = slices.rows * (len(self._each) + 1)
        self._places = self._bases + np.searchsorted(self._each, slices.times)

    def first_from(self, times: Ints) -> Ints:
        """Return, for each slice, the index of its key's first slice at or after the time."""
        ranks = np.searchsorted(self._each, times)
        return np.searchsorted(self._places, self._bases + ranks)

    def after(self, times: Ints) -> Ints:
        """Return, for each slice, the index after its key's last slice at or before the time."""
        ranks = np.searchsorted(self._each, times, "right")
        return np.searchsorted(self._places, self._bases + ranks)
