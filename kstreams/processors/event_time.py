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
"""A wall clock that shows an earlier time (2001) is a test's, or was never set."""

InvalidTime = Literal["fail", "skip", "partition-time"]
"""The policy for a record without a valid time: an extractor returns None or a negative time, or
the time is too far ahead. `fail` fails as if a processor had raised. `skip` drops the record and
counts it as `no-event-time` or `too-far-ahead`. `partition-time` uses the highest valid time of the
partition so far, and fails if there is none.
"""

DEFAULT_MAX_AHEAD: Final = timedelta(days=1)
"""The default maximum lead of a record's time against the wall clock.

The limit exceeds the error of a wrong time zone, so that imprecise producers work. A wrong stream
time within the limit is caught up within a day. In a replay, times are before the wall clock. A
wall clock before 2001 disables this default: it is a clock of tests, or was never set.
"""

TimeExtractor = Callable[[Record[K, V]], "datetime | int | None"]
"""Returns a record's time: aware, or ms since the epoch; None when it has none."""


@dataclass(frozen=True)
class WallClock:
    """Processing time; made by `wall_clock()`."""


def wall_clock() -> WallClock:
    """Give a source's records the time at which they are processed.

    That is the recorded wall time of their micro-batch, the same for all of its records
    and at each attempt, whenever the records were written. Give the builder an `idle_timeout`
    too, so that windows close while no records come. `max_ahead` does not apply: a clock that
    is ahead advances stream time, and records are late after its correction, until it has
    caught up.

    Source: `org.apache.kafka.streams.processor.WallclockTimestampExtractor`.
    """
    return WallClock()


@dataclass(frozen=True)
class EventTime:
    """The event time of a source.

    Args:
        extract: Returns the time of a record, whose `timestamp` is that of the topic; None uses
            that timestamp.
        invalid: The policy for records without a valid time.
        ahead_ms: The maximum lead of a time against the wall time of the batch; None: any time.
        unset_clocks: Whether `ahead_ms` also applies with a wall clock that was never set.
    """

    extract: Callable[[Record[Any, Any]], datetime | int | None] | WallClock | None = None
    invalid: InvalidTime = "fail"
    ahead_ms: int | None = None
    unset_clocks: bool = True

    def latest(self, wall_ms: int) -> int:
        """Return the last time that records may have in a batch of a wall time, ms."""
        if self.ahead_ms is None or not (self.unset_clocks or wall_ms >= _SET_MS):
            return LATEST_MS
        return min(wall_ms + self.ahead_ms, LATEST_MS)
