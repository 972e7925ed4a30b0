"""The event time of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from kstreams._types import K, V
from kstreams.record import Record
from kstreams.times import LATEST_MS

__all__ = (
    "DEFAULT_MAX_AHEAD",
    "EventTime",
    "InvalidTime",
    "TimeExtractor",
    "WallClock",
    "wall_clock",
)


_SET_MS = 1_000_000_000_000
"""Wall clocks that show a time before this (2001) belong to tests, or were never set."""

InvalidTime = Literal["fail", "skip", "partition-time"]
"""The policy for a record without a valid time: an extractor returns None or a negative time, or
the time is too far ahead. `fail` fails as if a processor had raised. `skip` drops the record and
counts it as `no-event-time` or `too-far-ahead`. `partition-time` uses the highest valid time of the
partition so far, and fails if there is none.
"""

DEFAULT_MAX_AHEAD: Final = timedelta(days=1)
"""The default maximum time by which a record's time may be later than the wall clock."""

TimeExtractor = Callable[[Record[K, V]], "datetime | int | None"]
"""Returns a record's time: an aware `datetime`, or ms since the epoch; None for no time."""


@dataclass(frozen=True)
class WallClock:
    """Processing time as event time; created by `wall_clock()`."""


def wall_clock() -> WallClock:
    """Use the processing time as the event time of a source's records.

    The processing time is the recorded wall time of a record's micro-batch, the same for all
    records of the batch and in each attempt. Also set the builder's `idle_timeout`, so that windows
    close while there are no records. `max_ahead` does not apply: a clock that is ahead advances
    stream time, and after its correction records are late until the clock has caught up.

    Source: `org.apache.kafka.streams.processor.WallclockTimestampExtractor`.
    """
    return WallClock()


@dataclass(frozen=True)
class EventTime:
    """The event time of a source.

    Args:
        extract: Returns the time of a record; None to use the topic's timestamp.
        invalid: The policy for records without a valid time.
        ahead_ms: The maximum time (ms) by which a record's time may be later than the wall time of
            the batch; None: no maximum.
        unset_clocks: Whether `ahead_ms` also applies while the wall clock shows a time before 2001,
            as a clock does that was never set.
    """

    extract: Callable[[Record[Any, Any]], datetime | int | None] | WallClock | None = None
    invalid: InvalidTime = "fail"
    ahead_ms: int | None = None
    unset_clocks: bool = True

    def latest(self, wall_ms: int) -> int:
        """Return the latest valid record time (ms) in a batch whose wall time is `wall_ms` (ms)."""
        if self.ahead_ms is None or not (self.unset_clocks or wall_ms >= _SET_MS):
            return LATEST_MS
        return min(wall_ms + self.ahead_ms, LATEST_MS)
