"""Bounds of the windows that hold a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from kstreams.windows.hopping import HoppingWindows
from kstreams.windows.kinds import TimeWindows
from kstreams.windows.tumbling import TumblingWindows

__all__ = ("Bounds", "bounds_of")

Bounds = Sequence[tuple[int, int]]
"""Start and end of windows, ms, by start."""

_MOST = 1024


def bounds_of(windows: TimeWindows) -> Callable[[int], Bounds]:
    """Return what returns the windows that hold a time (ms).

    Where all times of a span lie in the same windows, as those of tumbling and hopping
    windows do, it remembers them by span.
    """
    starts, end = windows.starts, windows.end
    match windows:
        case TumblingWindows(size_ms=size):
            span = size
        case HoppingWindows(size_ms=size, advance_ms=advance):
            span = gcd(size, advance)
        case _:
            return lambda time: [(start, end(start)) for start in starts(time)]
    known: dict[int, Bounds] = {}
    find = known.get

    def bounds(time: int) -> Bounds:
        found = find(time // span)
        if found is None:
            if len(known) >= _MOST:
                known.clear()
            found = known[time // span] = [(start, end(start)) for start in starts(time)]
        return found

    return bounds
