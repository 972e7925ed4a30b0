"""Clocks. Only this module reads the machine's clock; all other code gets a `Clock`."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from typing import Protocol, runtime_checkable

__all__ = ("Clock", "FakeClock", "SteadyClock", "SystemClock", "WatchedClock", "steady_ms", "to_ms")

_MILLISECOND = timedelta(milliseconds=1)
_SET_BY_MS = 10_000
"""A wall clock that deviates by this many ms from the steady clock was set, not slewed."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Clock(Protocol):
    """Returns the wall-clock time, which may jump forward or backward when the clock is set."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        ...


@runtime_checkable
class SteadyClock(Clock, Protocol):
    """A clock that also measures elapsed time, even if its wall time is set."""

    def steady_ms(self) -> int:
        """Return milliseconds since an arbitrary moment; the result never decreases."""
        ...


def steady_ms(clock: Clock) -> int:
    """Return a time for measuring durations, ms: the clock's monotonic time, else its wall time."""
    return clock.steady_ms() if isinstance(clock, SteadyClock) else clock.now_ms()


class SystemClock:
    """A `Clock` that reads the machine's clock."""

    def now_ms(self) -> int:
        """Return the machine's time in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def steady_ms(self) -> int:
        """Return the machine's monotonic time in milliseconds."""
        return time.monotonic_ns() // 1_000_000


class FakeClock:
    """A clock that moves only when the test moves it.

    Args:
        start_ms: The initial time, milliseconds since the epoch.
    """

    def __init__(self, start_ms: int = 0) -> None:
        self._now_ms = start_ms
        self._steady_ms = 0

    def now_ms(self) -> int:
        """Return the current time of this clock, milliseconds since the epoch."""
        return self._now_ms

    def steady_ms(self) -> int:
        """Return the milliseconds by which `advance` has moved the clock."""
        return self._steady_ms

    def advance(self, by: timedelta) -> None:
        """Move wall time and steady time forward; a negative span is a `ValueError`."""
        if by < timedelta(0):
            raise ValueError(
                f"a clock can only be advanced forward, not by {by}; jump(...) sets it back"
            )
        self._now_ms += to_ms(by)
        self._steady_ms += to_ms(by)

    def jump(self, by: timedelta) -> None:
        """Change only the wall time, forward or backward, as if somebody set the clock."""
        self._now_ms += to_ms(by)


class WatchedClock:
    """A clock that detects that somebody has set the machine's clock.

    At each `now_ms`, the class compares the time that has passed on the wall clock with that on the
    monotonic clock: a difference of 10 s or more means that the wall clock was set. A clock that
    is not a `SteadyClock` has no monotonic time: then only a wall clock that goes back by 10 s or
    more counts as set.

    Args:
        clock: The clock whose times are returned.

    Attributes:
        since_ms: The wall time since which the clock has not been set, ms since the epoch.
        set_ms: The wall time at which a setting of the clock was last detected; None if never.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.now_ms(), steady_ms(clock)
        self.since_ms = self._last[0]
        self.set_ms: int | None = None

    def now_ms(self) -> int:
        """Return milliseconds since the epoch, and check whether the clock was set."""
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
    """Convert a duration, or a time with a time zone (since the epoch), to whole milliseconds.

    Raises:
        ValueError: The time has no time zone.
    """
    if isinstance(value, timedelta):
        return value // _MILLISECOND
    if value.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone; give datetime(..., tzinfo=timezone.utc)")
    return (value - _EPOCH) // _MILLISECOND
