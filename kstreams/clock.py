"""The only place that reads the machine's clock; everything else is given a `Clock`."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Protocol, runtime_checkable

__all__ = ("Clock", "FakeClock", "SteadyClock", "SystemClock", "WatchedClock", "steady_ms", "to_ms")

_MILLISECOND = timedelta(milliseconds=1)
_SET_BY_MS = 10_000
"""A clock that is off by so much was set, rather than slewed."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Clock(Protocol):
    """Returns the wall-clock time, which may jump forward or backward when the clock is set."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        ...


@runtime_checkable
class SteadyClock(Clock, Protocol):
    """A clock that also knows how much time passes, however it is set."""

    def steady_ms(self) -> int:
        """Return milliseconds since some moment; never goes back."""
        ...


def steady_ms(clock: Clock) -> int:
    """Return the time for measuring durations: the monotonic time of the clock if it has one."""
    return clock.steady_ms() if isinstance(clock, SteadyClock) else clock.now_ms()


class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return the machine's time in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def steady_ms(self) -> int:
        """Return the machine's monotonic time in milliseconds."""
        return time.monotonic_ns() // 1_000_000


class FakeClock:
    """A clock that moves only when the test moves it.

    Args:
        start_ms: The time it starts at, milliseconds since the epoch.
    """

    def __init__(self, start_ms: int = 0) -> None:
        self._now_ms = start_ms
        self._steady_ms = 0

    def now_ms(self) -> int:
        """Return the time it was last moved to."""
        return self._now_ms

    def steady_ms(self) -> int:
        """Return how far it was moved forward."""
        return self._steady_ms

    def advance(self, by: timedelta) -> None:
        """Let time pass; a negative span is a `ValueError`."""
        if by < timedelta(0):
            raise ValueError(f"a clock moves forward only, not by {by}")
        self._now_ms += to_ms(by)
        self._steady_ms += to_ms(by)

    def jump(self, by: timedelta) -> None:
        """Show a later or an earlier time, as a clock does that is set: no time passes."""
        self._now_ms += to_ms(by)


class WatchedClock:
    """A clock, and when it was set last.

    A clock that knows no steady time is believed when it goes ahead.

    Args:
        clock: The clock.

    Attributes:
        since_ms: The wall time since which it has gone on steadily.
        set_ms: The wall time at which it was last seen to have been set; None if never.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.now_ms(), steady_ms(clock)
        self.since_ms = self._last[0]
        self.set_ms: int | None = None

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, and look whether the clock was set."""
        now, steady = self._clock.now_ms(), steady_ms(self._clock)
        before, at = self._last
        self._last = now, steady
        if abs(now - before - max(steady - at, 0)) >= _SET_BY_MS:
            self.since_ms = self.set_ms = now
        return now

    def steady_ms(self) -> int:
        """Return the clock's steady time."""
        return steady_ms(self._clock)


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
