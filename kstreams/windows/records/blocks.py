"""States of ranges of slices, merged from blocks that ranges share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = ("Blocks",)


class Blocks:
    """Merges ranges of states in the same order as `merged_ranges` does for columns.

    The states before the last are merged in blocks whose sizes are the powers of two that sum up to
    their number, the smallest first; then the last state is merged. So sums of doubles are
    bit-identical in both executions, and overlapping ranges share most of their work.

    Args:
        states: The states.
        merge: Merges two states, the earlier one first.
    """

    def __init__(self, states: Sequence[Any], merge: Callable[[Any, Any], Any]) -> None:
        self._states = states
        self._merge = merge
        self._known: dict[tuple[int, int], Any] = {}

    def of(self, low: int, high: int) -> Any:  # noqa: ANN401  # erased types
        """Return the merged state of the nonempty range `low <= index < high`."""
        last = high - 1
        found, place, size = None, low, 1
        count = last - low
        while size <= count:
            if count & size:
                block = self._block(place, size)
                found = block if place == low else self._merge(found, block)
                place += size
            size *= 2
        return self._states[last] if not count else self._merge(found, self._states[last])

    def _block(self, place: int, size: int) -> Any:  # noqa: ANN401  # as above
        if size == 1:
            return self._states[place]
        found = self._known.get((place, size))
        if found is None:
            half = size // 2
            parts = self._block(place, half), self._block(place + half, half)
            found = self._known[place, size] = self._merge(*parts)
        return found
