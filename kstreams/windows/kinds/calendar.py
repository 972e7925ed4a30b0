"""Calendar windows: days, weeks, months, quarters and years in a time zone."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from functools import partial
from math import gcd
from typing import Literal
from zoneinfo import ZoneInfo

from kstreams.options import checks_options
from kstreams.stored_names import dashed, kebab
from kstreams.times import span_ms
from kstreams.windows.columns.assignment import Assigner, searched
from kstreams.windows.engine import WindowEngine, time_engine
from kstreams.windows.keys.serdes import SpanWindowedSerde

__all__ = ("CalendarUnit", "CalendarWindows", "Weekday")

CalendarUnit = Literal["day", "week", "month", "quarter", "year"]
"""The unit of a calendar window."""

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
"""A day of the week, as `week_start` takes it."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SECOND = timedelta(seconds=1)
_MINUTE_MS = 60_000
_NONE = (-(1 << 63), -(1 << 63))


@checks_options
@dataclass(frozen=True)
class CalendarWindows:
    """Windows between midnights of a time zone, correct across changes of daylight saving time.

    A day has 23, 25 or 24.5 hours if clocks change. A day begins at the first moment with its local
    date: at 01:00 if midnight does not exist, at the first of two midnights otherwise; a day that
    the zone skips has no window. Windows of several units are counted from 1970-01-01 (weeks: from
    the week of that day). Windows that begin before the year 1 or end after the year 9999 do not
    exist: their records are dropped as `no-window`.

    Args:
        unit: `day`, `week`, `month`, `quarter` or `year`.
        count: The number of units per window.
        tz: The IANA name of the time zone.
        week_start: The first day of a week.
        grace: The stream time for which a window accepts records after its end; or `forever`.

    Raises:
        ValueError: The unit or weekday is unknown, the count is below 1, or the grace is negative.
        zoneinfo.ZoneInfoNotFoundError: The zone does not exist.

    Source: none in Kafka Streams; a subclass of its `Windows` can have calendar windows.
    """

    unit: CalendarUnit
    count: int = 1
    tz: str = field(default="UTC", kw_only=True)
    week_start: Weekday = field(default="monday", kw_only=True)
    grace: timedelta = field(default=timedelta(0), kw_only=True)
    close_delay_ms: int = field(init=False, repr=False, compare=False)
    close_interval_ms: int = field(init=False, repr=False, compare=False)
    _zone: ZoneInfo = field(init=False, repr=False, compare=False)
    _last: list[tuple[int, int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.unit not in (*_DAYS, *_MONTHS):
            raise ValueError(f"unit is {self.unit!r}, expected day, week, month, quarter or year")
        if self.week_start not in _WEEKDAYS:
            raise ValueError(f"week_start is {self.week_start!r}, expected monday to sunday")
        if self.count < 1:
            raise ValueError(f"count is {self.count}, expected 1 or more")
        grace_ms = span_ms("grace", self.grace)
        object.__setattr__(self, "close_delay_ms", grace_ms)
        object.__setattr__(self, "close_interval_ms", gcd(_MINUTE_MS, grace_ms))
        object.__setattr__(self, "_zone", ZoneInfo(self.tz))
        object.__setattr__(self, "_last", [_NONE])

    def starts(self, timestamp_ms: int) -> tuple[int, ...]:
        """Return the start of the window; empty if its bounds are outside the calendar."""
        start, end = self._last[0]
        if not start <= timestamp_ms < end:
            try:
                start, end = self._window(timestamp_ms)
            except (OverflowError, ValueError):
                return ()
            self._last[0] = start, end
        return (start,)

    def end(self, start_ms: int) -> int:
        """Return the end (ms): the start of the next nonempty window."""
        start, end = self._last[0]
        return end if start == start_ms else self._window(start_ms)[1]

    @property
    def name(self) -> str:
        """Return the part of stored names, without the grace: `per-month-europe-berlin`.

        The name omits a count of 1, UTC, and a Monday as the start of the week.
        """
        count = str(self.count) if self.count > 1 else ""
        by_other_week = self.unit == "week" and self.week_start != "monday"
        first = f"from-{self.week_start}" if by_other_week else ""
        zone = "" if self.tz == "UTC" else kebab(self.tz.replace("+", "-plus-"))
        return dashed("per", count, self.unit, first, zone)

    @property
    def engine(self) -> WindowEngine:
        """The engine of aggregations by these windows; encoded keys contain both bounds."""
        serde = partial(SpanWindowedSerde, kind="calendar", windows=self)
        return time_engine(self, self._assigner, windowed=serde)

    def _assigner(self) -> Assigner:
        return Assigner(searched(self), self._closed_before)

    def _closed_before(self, closed: int) -> int:
        """Return the start (ms) of the window that contains a time (ms).

        All windows with an earlier start have ended at this time.
        """
        found = self.starts(closed)
        return found[0] if found else closed  # before the first of all windows, or after the last

    def _window(self, timestamp_ms: int) -> tuple[int, int]:
        period = self._period(self._local_date(timestamp_ms))
        start, end = self._start_ms(period), self._start_ms(period + 1)
        # A clock set back over midnight shows yesterday's date after midnight.
        while end <= timestamp_ms:
            period += 1
            start, end = end, self._start_ms(period + 1)
        while start > timestamp_ms:
            period -= 1
            start, end = self._start_ms(period), start
        while end <= start:
            period += 1
            end = self._start_ms(period + 1)
        return start, end

    def _local_date(self, timestamp_ms: int) -> date:
        moment = _EPOCH + timedelta(milliseconds=timestamp_ms)
        return moment.astimezone(self._zone).date()

    def _period(self, day: date) -> int:
        """Return the number of the window that contains a date; the window of 1970-01-01 has 0."""
        if self.unit in _DAYS:
            return (day.toordinal() - self._first_day()) // (_DAYS[self.unit] * self.count)
        return ((day.year - 1970) * 12 + day.month - 1) // (_MONTHS[self.unit] * self.count)

    def _start_ms(self, period: int) -> int:
        """Return the start of the window with a number (`_period`), ms since the epoch."""
        if self.unit in _DAYS:
            ordinal = self._first_day() + period * _DAYS[self.unit] * self.count
            return self._midnight_ms(date.fromordinal(ordinal))
        months = period * _MONTHS[self.unit] * self.count
        return self._midnight_ms(date(1970 + months // 12, months % 12 + 1, 1))

    def _first_day(self) -> int:
        if self.unit == "day":
            return _EPOCH_DAY
        return _EPOCH_DAY - (_EPOCH_DAY - 1 - _WEEKDAYS.index(self.week_start)) % 7

    def _midnight_ms(self, day: date) -> int:
        """Return the first instant whose local date is `day` or later, ms since the epoch."""
        wall = datetime(day.year, day.month, day.day, tzinfo=self._zone)
        moment = wall.astimezone(timezone.utc)
        if moment.astimezone(self._zone).replace(tzinfo=None) != wall.replace(tzinfo=None):
            moment = self._end_of_gap(wall)
        return (moment - _EPOCH) // timedelta(milliseconds=1)

    def _end_of_gap(self, wall: datetime) -> datetime:
        """Return the instant at which clocks were put forward over the nonexistent time `wall`."""
        low = wall.replace(fold=1).astimezone(timezone.utc) - _SECOND
        high = wall.astimezone(timezone.utc)
        before = low.astimezone(self._zone).utcoffset()
        while high - low > _SECOND:
            middle = low + (high - low) // 2 // _SECOND * _SECOND
            if middle.astimezone(self._zone).utcoffset() == before:
                low = middle
            else:
                high = middle
        return high
