"""Where a record's time comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar

from kstreams.record import Record

__all__ = ("EventTime", "InvalidTime", "TimeExtractor", "WallClock", "wall_clock")

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""

InvalidTime = Literal["fail", "skip", "partition-time"]
"""What becomes of a record whose extracted time is None or negative: it fails as if a
processor had raised; it is dropped and counted as `no-event-time`; or it gets the highest
time that was extracted from its partition so far, and fails if there is none."""

TimeExtractor = Callable[[Record[K, V]], "datetime | int | None"]
"""Returns a record's time: aware, or ms since the epoch; None when it has none."""


@dataclass(frozen=True)
class WallClock:
    """Processing time; made by `wall_clock()`."""


def wall_clock() -> WallClock:
    """Let a source's records have the time at which they are processed.

    That is the recorded wall time of their micro-batch, the same for all of its records
    and at each attempt. Give the builder an `idle_timeout` too, so that windows close
    when nothing comes.

    Source: `org.apache.kafka.streams.processor.WallclockTimestampExtractor`.
    """
    return WallClock()


@dataclass(frozen=True)
class EventTime:
    """How a source gets the time of its records.

    Args:
        extract: Takes it from a record, whose `timestamp` is the topic's.
        invalid: What becomes of records for which it returns None or a negative time.
    """

    extract: Callable[[Record[Any, Any]], datetime | int | None] | WallClock
    invalid: InvalidTime
