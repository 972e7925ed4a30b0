"""Bounds of the windows that hold a time."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from kstreams.errors import ProcessingError
from kstreams.windows.kinds.contract import MAX_WINDOWS, TimeWindows
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.kinds.tumbling import TumblingWindows

__all__ = ("Bounds", "WindowBounds")

Bounds = Sequence[tuple[int, int]]
"""Start and end of windows, ms, by start."""

_MAX_SPANS = 1024
_MAX_WINDOWS = 1 << 16
"""The maximum number of cached spans and windows."""


class WindowBounds(dict[int, Bounds]):
    """The windows that hold a time: `bounds[time_ms // bounds.span_ms]`.

    All times of a span lie in the same windows. Those of tumbling and hopping windows are
    remembered, so that a record costs one look-up; other kinds are asked for each time.
    A time that too many windows hold is a `ProcessingError`.

    Args:
        windows: The kind of windows.

    Attributes:
        span_ms: Length of a span.
    """

    def __init__(self, windows: TimeWindows) -> None:
        super().__init__()
        self._windows = windows
        self._limit: int = getattr(windows, "max_windows", MAX_WINDOWS)
        self.span_ms, self._room = 1, 0
        match windows:
            case TumblingWindows(size_ms=size):
                self.span_ms, self._room = size, _MAX_SPANS
            case HoppingWindows(size_ms=size, advance_ms=advance):
                self.span_ms = gcd(size, advance)
                room = _MAX_WINDOWS // windows.windows_of_a_record
                self._room = min(_MAX_SPANS, max(1, room))
            case _:
                pass

    def __missing__(self, span: int) -> Bounds:
        """Return the windows of a span that is not remembered."""
        found = self._windows_of(span * self.span_ms)
        if self._room:
            if len(self) >= self._room:
                self.clear()
            self[span] = found
        return found

    def _windows_of(self, time_ms: int) -> Bounds:
        starts, end = self._windows.starts(time_ms), self._windows.end
        if len(starts) > self._limit:
            raise ProcessingError(
                f"{len(starts):,} windows of {type(self._windows).__name__} hold time {time_ms}, "
                f"and {self._limit:,} is the most",
                hint="give that kind of windows an attribute max_windows to allow for more.",
            )
        return [(start, end(start)) for start in starts]
