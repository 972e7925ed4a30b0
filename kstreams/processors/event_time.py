"""Where a record's time comes from."""

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
"""What becomes of a record that has no time (an extractor returns None or a negative one),
or one too far ahead: it fails as if a processor had raised; it is dropped and counted as
`no-event-time` or `too-far-ahead`; or it gets the highest good time that its partition has
had so far, and fails if there is none."""

DEFAULT_MAX_AHEAD: Final = timedelta(days=1)
"""How far ahead of the wall clock a record's time may lie, unless its source says it.

More than the wrong time zone of a producer makes, so that what was merely sloppy goes on;
little enough that a stream time which was moved so far is caught up within a day. A replay
is earlier than the wall clock. The one default that a wall clock before 2001 does not judge by:
that is a clock of tests, or one that was never set.
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
    """How a source gets the time of its records.

    Args:
        extract: Takes it from a record, whose `timestamp` is the topic's; None takes that.
        invalid: What becomes of records that have none, or one too far ahead.
        ahead_ms: How far ahead of the batch's wall time a time may lie; None: any time.
        unset_clocks: Whether `ahead_ms` holds by a wall clock that was never set, too.
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
