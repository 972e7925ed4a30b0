"""Tumbling windows: adjacent windows of one size."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from math import gcd

import numpy as np

from kstreams._types import Ints
from kstreams.stored_names import span_part
from kstreams.times import positive_ms, span_ms
from kstreams.windows.columns.assignment import Assigned, Assigner
from kstreams.windows.engine import WindowEngine, time_engine
from kstreams.windows.records.bounds import Spans

__all__ = ("TumblingWindows",)


@dataclass(frozen=True)
class TumblingWindows:
    """Windows of one size without gaps or overlaps, aligned to the epoch: `[n*size, (n+1)*size)`.

    Args:
        size: The size of each window.
        grace: The stream time for which a window accepts records after its end; or `forever`.

    Raises:
        ValueError: The size is not positive, or the grace is negative.

    Source: `org.apache.kafka.streams.kstream.TimeWindows#ofSizeAndGrace`.
    """

    size: timedelta
    grace: timedelta = field(default=timedelta(0), kw_only=True)
    size_ms: int = field(init=False, repr=False, compare=False)
    close_delay_ms: int = field(init=False, repr=False, compare=False)
    close_interval_ms: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size_ms, grace_ms = positive_ms("size", self.size), span_ms("grace", self.grace)
        object.__setattr__(self, "size_ms", size_ms)
        object.__setattr__(self, "close_delay_ms", grace_ms)
        object.__setattr__(self, "close_interval_ms", gcd(size_ms, grace_ms))

    def starts(self, timestamp_ms: int) -> tuple[int, ...]:
        """Return the start of the window that contains a time; empty for a negative time."""
        return (timestamp_ms - timestamp_ms % self.size_ms,) if timestamp_ms >= 0 else ()

    def end(self, start_ms: int) -> int:
        """Return the end of a window, ms."""
        return start_ms + self.size_ms

    @property
    def name(self) -> str:
        """Return the part of stored names, without the grace: `per-1m`."""
        return f"per-{span_part(self.size)}"

    @property
    def engine(self) -> WindowEngine:
        """The engine of aggregations by these windows."""
        return time_engine(self, self._assigner, spans=Spans(self.size_ms))

    def _assigner(self) -> Assigner:
        return Assigner(self._assigned, lambda closed: closed - self.size_ms + 1)

    def _assigned(self, times: Ints) -> Assigned:
        rows, size = np.arange(len(times)), self.size_ms
        if len(times) and times.min() < 0:
            rows = np.flatnonzero(times >= 0)
            times = times[rows]
        starts = times - times % size
        return Assigned(rows, starts, starts + size, size)
