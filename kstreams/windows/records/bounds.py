"""The bounds of the windows that contain a time, cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.errors import ProcessingError
from kstreams.windows.contract import MAX_WINDOWS, TimeWindows

__all__ = ("Bounds", "Spans", "WindowBounds")

Bounds = Sequence[tuple[int, int]]
"""Start and end (ms) of each window, in the order of starts."""

_MAX_SPANS = 1024
_MAX_WINDOWS = 1 << 16
"""The maximum number of cached spans and of cached windows."""


@dataclass(frozen=True)
class Spans:
    """Divides time into spans of one length; all times of a span have the same windows.

    Args:
        length_ms: The length of a span, ms.
        most: The maximum number of windows that contain a time.
    """

    length_ms: int
    most: int = 1


class WindowBounds(dict[int, Bounds]):
    """Maps the number of a span to the windows that contain all times of the span.

    `bounds[time_ms // bounds.span_ms]` are the windows that contain a time. The windows of a span
    are cached, so a record needs only one lookup. Without spans, the windows are computed for each
    time. Raises `ProcessingError` if too many windows contain a time.

    Args:
        windows: The windows.
        spans: The spans in which all times have the same windows; None if there are no such spans.

    Attributes:
        span_ms: The length of a span, ms; 1 without spans.
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
        """Compute the windows of a span, and cache them."""
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
                f"{len(starts):,} windows of {type(self._windows).__name__} contain time "
                f"{time_ms}, and the maximum is {self._limit:,}",
                hint="raise max_windows: an argument of HoppingWindows, or an attribute of other "
                "window classes.",
            )
        return [(start, end(start)) for start in starts]
