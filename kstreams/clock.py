"""The only place that reads the machine's clock; everything else is given a `Clock`."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Protocol

__all__ = ("Clock", "FakeClock", "SystemClock", "to_ms")

_MILLISECOND = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Clock(Protocol):
    """Tells the wall-clock time."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        ...


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return the machine's time in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000


class FakeClock:
    """A clock that moves only when told to, for tests.

    Args:
        start_ms: The time it starts at, milliseconds since the epoch.
    """

    def __init__(self, start_ms: int = 0) -> None:
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """Return the time it was last moved to."""
        return self._now_ms

    def advance(self, by: timedelta) -> None:
        """Move forward; a negative span is a `ValueError`."""
        if by < timedelta(0):
            raise ValueError(f"a clock moves forward only, not by {by}")
        self._now_ms += to_ms(by)


def to_ms(value: timedelta | datetime) -> int:
    """Convert a span, or an aware time, to whole milliseconds.

    Raises:
        ValueError: A time without a zone.
    """
    if isinstance(value, timedelta):
        return value // _MILLISECOND
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone; give datetime(..., tzinfo=timezone.utc)")
    return (value - _EPOCH) // _MILLISECOND
