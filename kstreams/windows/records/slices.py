"""The slices of one key, and the sliding windows that consist of slices.

A slice is the merged state of a key's records with the same time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from kstreams.aggregators.aggregator import is_exact
from kstreams.record import Record
from kstreams.windows.records.blocks import Blocks

__all__ = ("Slices",)

_Window = tuple[int, Any, int]
"""Start (ms), state, and time of the last record (ms) of a window."""


class Slices:
    """The slices of a key: one state per record time, sorted. A window is a range of slices.

    Args:
        pairs: Time (ms) and state of each slice, sorted by time.
        span: The time from a window's start to its end, both inclusive, ms.
        aggregator: Adds and merges states.
    """

    def __init__(self, pairs: tuple[tuple[int, Any], ...], span: int, aggregator: Any) -> None:  # noqa: ANN401  # erased
        self.pairs = pairs
        self._span = span
        self._aggregator = aggregator
        self._exact = is_exact(aggregator)
        self._times = [time for time, _ in pairs]

    @property
    def last(self) -> int:
        """The latest time of a slice, ms; -1 if there is no slice."""
        return self._times[-1] if self._times else -1

    def since(self, time: int) -> Slices:
        """Return the slices at or after a time (ms)."""
        first = bisect_left(self._times, time)
        return Slices(self.pairs[first:], self._span, self._aggregator) if first else self

    def add(self, time: int, record: Record[Any, Any]) -> bool:
        """Add a record; return whether it is the first record with its time."""
        place = bisect_left(self._times, time)
        is_new = place == len(self._times) or self._times[place] != time
        if is_new:
            self._times.insert(place, time)
            made = (time, self._aggregator.init(record))
            self.pairs = (*self.pairs[:place], made, *self.pairs[place:])
        else:
            made = (time, self._aggregator.add(self.pairs[place][1], record))
            self.pairs = (*self.pairs[:place], made, *self.pairs[place + 1 :])
        return is_new

    def ending(self, low: int, high: int) -> Iterator[_Window]:
        """Yield the windows with `low <= end < high`, in the order of starts."""
        starts = {end - self._span for end in self._ends() if low <= end < high}
        blocks = self._blocks()
        for start in sorted(starts):
            first = bisect_left(self._times, start)
            stop = bisect_right(self._times, start + self._span)
            yield start, blocks.of(first, stop), self._times[stop - 1]

    def next_end(self, low: int) -> int | None:
        """Return the first end of a window at `low` or later; None if there is no such window."""
        return min((end for end in self._ends() if end >= low), default=None)

    def last_end(self) -> int | None:
        """Return the last end of a window, ms; None if there is no window."""
        return max(self._ends(), default=None)

    def changed(self, time: int, opened: int, *, is_new: bool) -> Iterator[_Window]:
        """Yield the open windows that a record at `time` changed or created.

        Args:
            time: The time of the added record.
            opened: Windows that end before this time (ms) are closed.
            is_new: Whether the record is the first one of its time.
        """
        if not self._exact:
            yield from self._changed_in_order(time, opened, is_new=is_new)
            return
        merge, times, span = self._aggregator.merge, self._times, self._span
        place = bisect_left(times, time)
        states = [state for _, state in self.pairs]
        first = bisect_left(times, time - span)
        stop = bisect_right(times, time + span)
        # The states of all before the record, back to each time; of all from it on.
        before = list(
            accumulate(reversed(states[first:place]), lambda later, earlier: merge(earlier, later))
        )
        onward = list(accumulate(states[place:stop], merge))
        for start in sorted(self._around(time)):
            if start + span < opened:
                continue
            low = bisect_left(times, start)
            high = bisect_right(times, start + span) - 1
            state = onward[high - place]
            yield (
                start,
                merge(before[place - low - 1], state) if low < place else state,
                times[high],
            )
        if is_new and time + 1 + span >= opened:
            yield from self._made_after(time)

    def _changed_in_order(self, time: int, opened: int, *, is_new: bool) -> Iterator[_Window]:
        """Yield the windows of `changed`, with states merged in the order of columnar execution."""
        times, span, blocks = self._times, self._span, self._blocks()
        for start in sorted(self._around(time)):
            if start + span >= opened:
                low = bisect_left(times, start)
                stop = bisect_right(times, start + span)
                yield start, blocks.of(low, stop), times[stop - 1]
        if is_new and time + 1 + span >= opened:
            yield from self._made_after(time)

    def _blocks(self) -> Blocks:
        return Blocks([state for _, state in self.pairs], self._aggregator.merge)

    def _around(self, time: int) -> set[int]:
        """Return the starts of the windows that contain the time (ms) of a record."""
        times, span = self._times, self._span
        place = bisect_left(times, time)
        left = times[place : bisect_right(times, time + span)]
        right = times[bisect_left(times, time - 1 - span) : place]
        return {max(t, span) - span for t in left} | {t + 1 for t in right}

    def _made_after(self, time: int) -> Iterator[_Window]:
        """Yield the window right after a new record, unless it is empty or existed before."""
        times, end = self._times, time + 1 + self._span
        low = bisect_right(times, time)
        stop = bisect_right(times, end)
        if low < stop and times[stop - 1] != end:
            states = [state for _, state in self.pairs[low:stop]]
            state = Blocks(states, self._aggregator.merge).of(0, len(states))
            yield time + 1, state, times[stop - 1]

    def _ends(self) -> Iterator[int]:
        """Yield the ends of all windows, possibly with duplicates."""
        times, span = self._times, self._span
        for place, time in enumerate(times):
            yield max(time, span)
            if place + 1 < len(times) and times[place + 1] <= time + 1 + span:
                yield time + 1 + span
