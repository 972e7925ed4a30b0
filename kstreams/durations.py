"""Durations by their unit: `minutes(1)` is `timedelta(minutes=1)`.

`forever` is the longest duration: for a grace, limit, ttl or retention that never ends.

Example:
    >>> from kstreams.durations import minutes, seconds
    >>> str(minutes(1) + seconds(30))
    '0:01:30'
    >>> from kstreams.durations import forever
    >>> from kstreams.windows import TumblingWindows
    >>> accepts_all_late_records = TumblingWindows(minutes(1), grace=forever)
"""

from __future__ import annotations

from datetime import timedelta

from kstreams.times import forever

__all__ = ("days", "forever", "hours", "milliseconds", "minutes", "seconds")


def milliseconds(count: float) -> timedelta:
    """Return a duration of `count` milliseconds."""
    return timedelta(milliseconds=count)


def seconds(count: float) -> timedelta:
    """Return a duration of `count` seconds."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """Return a duration of `count` minutes."""
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """Return a duration of `count` hours."""
    return timedelta(hours=count)


def days(count: float) -> timedelta:
    """Return a duration of `count` days of 24 hours; see `CalendarWindows` for calendar days."""
    return timedelta(days=count)
