"""Bounds of the windows that contain a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.errors import ProcessingError
from kstreams.windows.contract import MAX_WINDOWS, TimeWindows

__all__ = ("Bounds", "Spans", "WindowBounds")

Bounds = Sequence[tuple[int, int]]
"""Start and end of windows, ms, by start."""

_MAX_SPANS = 1024
_MAX_WINDOWS = 1 << 16
"""The maximum number of cached spans and windows."""


@dataclass(frozen=True)
class Spans:
    """Spans from one multiple of a length to the next, in which all times have the same windows.

    Args:
        length_ms: The length of a span.
        most: The maximum number of windows that contain a time.
    """

    length_ms: int
    most: int = 1


class WindowBounds(dict[int, Bounds]):
    """The windows that contain a time: `bounds[time_ms // bounds.span_ms]`.

    The windows of a span are cached, so that a record costs one look-up. Without spans, the windows
    are computed for each time. A time that too many windows contain is a `ProcessingError`.

    Args:
        windows: The windows.
        spans: Spans with the same windows, if the kind has them.

    Attributes:
        span_ms: Length of a span.
    """

    def __init__(self, windows: TimeWindows, spans: Spans | None = None) -> None:
        super().__init__()
        self._windows = windows
        self._limit: int = getattr(windows, "max_windows", MAX_WINDOWS)
        self.span_ms, self._room = 1, 0
        if spans is not None:
            self.span_ms = spans.length_ms
            self._room = min(_MAX_SPANS, max(1, _MAX_WINDOWS // spans.most))

    def __missing__(self, span: int) -> Bounds:
        """Return the windows of a span that is not cached."""
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
