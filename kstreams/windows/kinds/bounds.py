"""Bounds of the windows that hold a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd

from kstreams.errors import ProcessingError
from kstreams.windows.kinds.contract import MAX_WINDOWS, TimeWindows
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.kinds.tumbling import TumblingWindows

__all__ = ("Bounds", "bounds_of")

Bounds = Sequence[tuple[int, int]]
"""Start and end of windows, ms, by start."""

_MOST = 1024
_MOST_WINDOWS = 1 << 16
"""Spans, and windows, that are remembered."""


def bounds_of(windows: TimeWindows) -> Callable[[int], Bounds]:
    """Return what returns the windows that hold a time (ms).

    What it returns raises a `ProcessingError` for a time that too many windows hold.

    Where all times of a span lie in the same windows, as those of tumbling and hopping
    windows do, it remembers them by span.
    """
    starts, end = _bounded(windows), windows.end
    match windows:
        case TumblingWindows(size_ms=size):
            span, room = size, _MOST
        case HoppingWindows(size_ms=size, advance_ms=advance):
            span = gcd(size, advance)
            room = min(_MOST, max(1, _MOST_WINDOWS // windows.windows_of_a_record))
        case _:
            return lambda time: [(start, end(start)) for start in starts(time)]
    known: dict[int, Bounds] = {}
    find = known.get

    def bounds(time: int) -> Bounds:
        found = find(time // span)
        if found is None:
            if len(known) >= room:
                known.clear()
            found = known[time // span] = [(start, end(start)) for start in starts(time)]
        return found

    return bounds


def _bounded(windows: TimeWindows) -> Callable[[int], Sequence[int]]:
    limit: int = getattr(windows, "max_windows", MAX_WINDOWS)
    found = windows.starts

    def starts(time: int) -> Sequence[int]:
        own = found(time)
        if len(own) > limit:
            raise ProcessingError(
                f"{len(own):,} windows of {type(windows).__name__} hold time {time}, "
                f"and {limit:,} is the most",
                hint="give that kind of windows an attribute max_windows to allow for more",
            )
        return own

    return starts
