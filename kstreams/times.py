"""The range of event times: the times that Python dates can represent."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from kstreams.errors import EventTimeError

__all__ = (
    "BEFORE_ALL_MS",
    "EARLIEST_MS",
    "FAR_MS",
    "LATEST_MS",
    "LONGEST_SPAN",
    "checked_time",
    "forever",
    "is_forever",
    "positive_ms",
    "span_ms",
)

EARLIEST_MS: Final = -62_135_596_800_000
"""The first event time: year 1, ms since the epoch."""

LATEST_MS: Final = 253_402_300_799_999
"""The last event time: the end of year 9999, ms since the epoch.

The range is far from the limits of int64, so adding durations to a time cannot overflow.
"""

FAR_MS: Final = 1 << 62
"""A time, ms, later than all event times plus any duration: the due time if nothing is due."""

BEFORE_ALL_MS: Final = -(1 << 63)
"""The lowest int64, ms: no stored time is before it."""

forever: Final = timedelta(days=3_652_500)
"""A grace, limit, ttl or retention that never ends: 10,000 years, longer than all event times."""

LONGEST_SPAN: Final = forever
"""The longest size, gap, grace or interval."""

_MILLISECOND = timedelta(milliseconds=1)


def is_forever(span: timedelta) -> bool:
    """Return whether a duration is at least `forever`: longer than all event times."""
    return span >= forever


def checked_time(timestamp_ms: int) -> int:
    """Return the event time, ms since the epoch, if it is in the valid range.

    Raises:
        EventTimeError: The time is out of the range of years 1 to 9999.
    """
    if not EARLIEST_MS <= timestamp_ms <= LATEST_MS:
        raise EventTimeError(
            f"event time {timestamp_ms} is out of range: expected {EARLIEST_MS} to {LATEST_MS} "
            "(ms since the epoch; years 1 to 9999)",
            hint="forward records with times in ms, not in µs or ns.",
        )
    return timestamp_ms


def span_ms(name: str, span: timedelta) -> int:
    """Return a duration in ms.

    Raises:
        ValueError: The duration is negative, not a whole number of ms, or above
            `LONGEST_SPAN`.
    """
    if span < timedelta(0) or span % _MILLISECOND:
        raise ValueError(f"{name} is {span}, expected whole milliseconds, 0 or more")
    if span > LONGEST_SPAN:
        raise ValueError(f"{name} is {span}, expected {LONGEST_SPAN.days} days or less")
    return span // _MILLISECOND


def positive_ms(name: str, span: timedelta) -> int:
    """Return a positive duration in ms.

    Raises:
        ValueError: The duration is below 1 ms, or `span_ms` rejects it.
    """
    if span <= timedelta(0):
        raise ValueError(f"{name} is {span}, expected 1 ms or more")
    return span_ms(name, span)
