"""Spans of time by their unit: `minutes(1)` for `timedelta(minutes=1)`."""

from __future__ import annotations

from datetime import timedelta

from kstreams.times import LONGEST_SPAN

__all__ = ("days", "hours", "milliseconds", "minutes", "positive_ms", "seconds", "span_ms")

_MILLISECOND = timedelta(milliseconds=1)


def milliseconds(count: float) -> timedelta:
    """Return so many milliseconds."""
    return timedelta(milliseconds=count)


def seconds(count: float) -> timedelta:
    """Return so many seconds."""
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    """Return so many minutes."""
    return timedelta(minutes=count)


def hours(count: float) -> timedelta:
    """Return so many hours."""
    return timedelta(hours=count)


def days(count: float) -> timedelta:
    """Return so many days of 24 hours; see `CalendarWindows` for those of a calendar."""
    return timedelta(days=count)


def span_ms(name: str, span: timedelta) -> int:
    """Return a span in ms.

    Raises:
        ValueError: It is negative, no whole number of milliseconds, or above `LONGEST_SPAN`.
    """
    if span < timedelta(0) or span % _MILLISECOND:
        raise ValueError(f"{name} is {span}, expected whole milliseconds, 0 or more")
    if span > LONGEST_SPAN:
        raise ValueError(f"{name} is {span}, expected {LONGEST_SPAN.days} days or less")
    return span // _MILLISECOND


def positive_ms(name: str, span: timedelta) -> int:
    """Return a span in ms, at least 1; else a `ValueError` as from `span_ms`."""
    if span <= timedelta(0):
        raise ValueError(f"{name} is {span}, expected 1 ms or more")
    return span_ms(name, span)
