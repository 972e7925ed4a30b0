"""Hopping windows: overlapping windows of one size, which start at a fixed interval."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from math import gcd

import numpy as np

from kstreams._types import Ints
from kstreams.stored_names import span_part
from kstreams.times import positive_ms, span_ms
from kstreams.windows.columns.assignment import Assigned, Assigner
from kstreams.windows.contract import MAX_WINDOWS
from kstreams.windows.engine import WindowEngine, time_engine
from kstreams.windows.records.bounds import Spans

__all__ = ("HoppingWindows",)


@dataclass(frozen=True)
class HoppingWindows:
    """Windows `[n*advance, n*advance + size)`, which overlap if the advance is less than the size.

    Args:
        size: The size of each window.
        advance: The time between two starts; at most the size.
        grace: The stream time for which a window accepts records after its end; or `forever`.
        max_windows: The maximum number of windows that contain a record; the record is aggregated
            in each of them. `TopologyBuilder.build` rejects windows that exceed this number.

    Raises:
        ValueError: A span is not positive, the advance exceeds the size, the grace is negative, or
            `max_windows` is below 1.

    Source: `org.apache.kafka.streams.kstream.TimeWindows#advanceBy`.
    """

    size: timedelta
    advance: timedelta
    grace: timedelta = field(default=timedelta(0), kw_only=True)
    max_windows: int = field(default=MAX_WINDOWS, kw_only=True, compare=False)
    size_ms: int = field(init=False, repr=False, compare=False)
    advance_ms: int = field(init=False, repr=False, compare=False)
    close_delay_ms: int = field(init=False, repr=False, compare=False)
    close_interval_ms: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size_ms, grace_ms = positive_ms("size", self.size), span_ms("grace", self.grace)
        advance_ms = positive_ms("advance", self.advance)
        if advance_ms > size_ms:
            raise ValueError(
                f"advance is {self.advance}, expected size {self.size} or less: records between "
                "windows would be lost"
            )
        if self.max_windows < 1:
            raise ValueError(f"max_windows is {self.max_windows}, expected 1 or more")
        object.__setattr__(self, "size_ms", size_ms)
        object.__setattr__(self, "advance_ms", advance_ms)
        object.__setattr__(self, "close_delay_ms", grace_ms)
        object.__setattr__(self, "close_interval_ms", gcd(advance_ms, size_ms + grace_ms))

    @property
    def windows_of_a_record(self) -> int:
        """Return the maximum number of windows that contain a time."""
        return -(-self.size_ms // self.advance_ms)

    def starts(self, timestamp_ms: int) -> range | tuple[int, ...]:
        """Return the starts of the windows that contain a time; empty for a negative time."""
        if timestamp_ms < 0:
            return ()
        advance = self.advance_ms
        first = max(0, timestamp_ms - self.size_ms + advance) // advance * advance
        return range(first, timestamp_ms + 1, advance)

    def end(self, start_ms: int) -> int:
        """Return the end of a window, ms."""
        return start_ms + self.size_ms

    @property
    def name(self) -> str:
        """Return the part of stored names, without the grace: `per-5m-every-1m`."""
        return f"per-{span_part(self.size)}-every-{span_part(self.advance)}"

    @property
    def engine(self) -> WindowEngine:
        """The engine of aggregations by these windows."""
        spans = Spans(gcd(self.size_ms, self.advance_ms), self.windows_of_a_record)
        return time_engine(self, self._assigner, spans=spans, problems=self._problems())

    def _problems(self) -> tuple[str, ...]:
        """Return a problem if a record is in more than `max_windows` windows; otherwise nothing."""
        count = self.windows_of_a_record
        if count <= self.max_windows:
            return ()
        problem = (
            f"by windows of {self.size} at an advance of {self.advance} each record is "
            f"aggregated in {count:,} windows; the maximum is {self.max_windows:,}: increase "
            f"the advance, or the maximum with HoppingWindows(..., max_windows={count:_})"
        )
        return (problem,)

    def _assigner(self) -> Assigner:
        most = self.windows_of_a_record
        pane = gcd(self.size_ms, self.advance_ms) if most > 1 else 0
        return Assigner(self._assigned, lambda closed: closed - self.size_ms + 1, most, pane)

    def _assigned(self, times: Ints) -> Assigned:
        size, advance = self.size_ms, self.advance_ms
        rows = np.flatnonzero(times >= 0)
        times = times[rows]
        first = np.maximum(times - size + advance, 0) // advance
        counts = times // advance - first + 1
        ends = np.cumsum(counts)
        ramp = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        starts = (np.repeat(first, counts) + ramp) * advance
        return Assigned(np.repeat(rows, counts), starts, starts + size, advance)
