"""Calendar windows compared with zoneinfo, around each transition of many zones."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.durations import hours
from kstreams.windows import CalendarUnit, CalendarWindows, Weekday

ZONES = (
    "Europe/Berlin",
    "Europe/Dublin",
    "America/New_York",
    "America/Havana",  # set back from 01:00 to 00:00
    "America/Santiago",  # set forward at midnight
    "America/Asuncion",
    "Australia/Lord_Howe",  # by 30 minutes
    "Asia/Beirut",  # at midnight, both ways
    "Africa/Casablanca",
    "Pacific/Apia",
)
ODD = {
    "Pacific/Apia": (2011, 2012),  # skips 30 December 2011
    "Pacific/Kwajalein": (1993, 1994),  # skips 21 August 1993
    "America/St_Johns": (2005, 2008),  # set back from 00:01 to 23:01 of the previous day
    "Asia/Pyongyang": (2015, 2019),  # by 30 minutes, forward at 23:30
    "America/Toronto": (1970, 1975),
    "Africa/Monrovia": (1971, 1973),  # 44 minutes and 30 seconds
    "America/Caracas": (2007, 2017),
}
UNITS: tuple[CalendarUnit, ...] = ("day", "week", "month", "quarter", "year")
UTC = timezone.utc
SECOND = 1000
HOUR = 3600 * SECOND


def ms(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def local(zone: str, timestamp_ms: int) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return (epoch + timedelta(milliseconds=timestamp_ms)).astimezone(ZoneInfo(zone))


@cache
def transitions(zone: str, first: int, last: int) -> tuple[int, ...]:
    """Find all changes of a zone's offset to the second, by checking each hour."""
    found = []
    begin, end = ms(datetime(first, 1, 1, tzinfo=UTC)), ms(datetime(last, 1, 1, tzinfo=UTC))
    for hour in range(begin, end, HOUR):
        if local(zone, hour).utcoffset() != local(zone, hour + HOUR).utcoffset():
            low, high = hour, hour + HOUR
            while high - low > SECOND:
                middle = (low + high) // 2 // SECOND * SECOND
                same = local(zone, middle).utcoffset() == local(zone, low).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            found.append(high)
    return tuple(found)


def first_day(unit: CalendarUnit, day: date) -> date:
    match unit:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "quarter":
            return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            return day.replace(month=1, day=1)


def around(moments: tuple[int, ...]) -> Iterator[int]:
    for moment in moments:
        for away in (-25 * HOUR, -HOUR, -1, 0, 1, 30 * 60 * SECOND, HOUR, 25 * HOUR):
            yield moment + away


def begins(zone: str, unit: CalendarUnit, start: int) -> bool:
    """Return whether a period begins: its date is first shown at this time."""
    now, before = local(zone, start), local(zone, start - 1)
    period = first_day(unit, now.date())
    return first_day(unit, before.date()) < period


def check(zone: str, first: int, last: int, unit: CalendarUnit) -> int:
    windows = CalendarWindows(unit, tz=zone)
    count = 0
    for timestamp in around(transitions(zone, first, last)):
        (start,) = windows.starts(timestamp)
        end = windows.end(start)
        assert start <= timestamp < end
        assert begins(zone, unit, start)
        assert begins(zone, unit, end)
        assert windows.starts(start) == (start,) == windows.starts(end - 1)
        assert windows.starts(end) == (end,)
        # No other period begins in between; its first date would have been shown.
        shown = first_day(unit, local(zone, start).date())
        for inside in range(start, min(end, start + 50 * 24 * HOUR), 6 * HOUR):
            assert first_day(unit, local(zone, inside).date()) == shown or inside - start < HOUR
        count += 1
    return count


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("zone", ZONES)
def test_calendar_windows_end_at_midnight_around_each_time_zone_transition(
    zone: str, unit: CalendarUnit
) -> None:
    check(zone, 2020, 2031, unit)


@pytest.mark.long
def test_time_zones_of_calendar_tests_have_transitions() -> None:
    assert sum(len(transitions(zone, 2020, 2031)) for zone in ZONES) > 150


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("zone", ODD)
def test_calendar_windows_end_at_midnight_around_unusual_transitions(
    zone: str, unit: CalendarUnit
) -> None:
    assert check(zone, *ODD[zone], unit) > 0


def day_of(zone: str, year: int, month: int, day: int, hour: int = 12) -> tuple[datetime, float]:
    """Return local start and length in hours of the day that contains a time."""
    windows = CalendarWindows("day", tz=zone)
    moment = ms(datetime(year, month, day, hour, tzinfo=ZoneInfo(zone)))
    (start,) = windows.starts(moment)
    return local(zone, start).replace(tzinfo=None), (windows.end(start) - start) / HOUR


@pytest.mark.parametrize(
    ("zone", "day", "start", "length"),
    [
        ("Europe/Berlin", (2024, 3, 31), "00:00", 23),
        ("Europe/Berlin", (2024, 10, 27), "00:00", 25),
        ("Europe/Berlin", (2024, 6, 1), "00:00", 24),
        ("Australia/Lord_Howe", (2024, 10, 6), "00:00", 23.5),
        ("Australia/Lord_Howe", (2024, 4, 7), "00:00", 24.5),
        ("America/Santiago", (2024, 9, 8), "01:00", 23),
        ("America/Havana", (2024, 11, 3), "00:00", 25),
        ("Asia/Pyongyang", (2018, 5, 5), "00:00", 24),
        ("Asia/Pyongyang", (2018, 5, 4), "00:00", 23.5),
        ("Pacific/Apia", (2011, 12, 29), "00:00", 24),
        ("Pacific/Apia", (2011, 12, 31), "00:00", 24),
        ("America/St_Johns", (2006, 10, 29), "00:00", 25),
    ],
)
def test_calendar_days_around_clock_changes_have_expected_start_and_length(
    zone: str, day: tuple[int, int, int], start: str, length: float
) -> None:
    begin, hours_long = day_of(zone, *day)
    assert begin == datetime.fromisoformat(f"{date(*day).isoformat()}T{start}")
    assert hours_long == length


@pytest.mark.parametrize(
    ("windows", "moment", "start", "end"),
    [
        (CalendarWindows("week"), "2024-05-01", "2024-04-29", "2024-05-06"),
        (CalendarWindows("week", week_start="sunday"), "2024-05-01", "2024-04-28", "2024-05-05"),
        (CalendarWindows("month"), "2024-02-29", "2024-02-01", "2024-03-01"),
        (CalendarWindows("quarter"), "2024-05-01", "2024-04-01", "2024-07-01"),
        (CalendarWindows("year"), "2024-05-01", "2024-01-01", "2025-01-01"),
        (CalendarWindows("month", 2), "2024-02-01", "2024-01-01", "2024-03-01"),
        (CalendarWindows("year", 5), "2024-05-01", "2020-01-01", "2025-01-01"),
        (CalendarWindows("day", 3), "1970-01-02", "1970-01-01", "1970-01-04"),
        (CalendarWindows("week", 2), "1970-01-09", "1969-12-29", "1970-01-12"),
        (CalendarWindows("month"), "1969-12-31", "1969-12-01", "1970-01-01"),
    ],
)
def test_calendar_windows_of_several_units_are_counted_from_epoch(
    windows: CalendarWindows, moment: str, start: str, end: str
) -> None:
    def at(text: str) -> int:
        return ms(datetime.fromisoformat(text).replace(tzinfo=UTC))

    (found,) = windows.starts(at(moment))
    assert (found, windows.end(found)) == (at(start), at(end))


DAYS: tuple[Weekday, ...] = ("monday", "thursday", "sunday")


@pytest.mark.long
@given(
    st.sampled_from(UNITS),
    st.integers(1, 5),
    st.sampled_from([*ZONES, *ODD]),
    st.sampled_from(DAYS),
    st.integers(0, ms(datetime(2035, 1, 1, tzinfo=UTC))),
)
def test_consecutive_calendar_windows_have_no_gaps(
    unit: CalendarUnit, count: int, zone: str, week_start: Weekday, timestamp: int
) -> None:
    windows = CalendarWindows(unit, count, tz=zone, week_start=week_start)
    (start,) = windows.starts(timestamp)
    end = windows.end(start)
    assert start <= timestamp < end
    assert windows.starts(end) == (end,)
    assert windows.starts(end - 1) == (start,)
    assert CalendarWindows(unit, count, tz=zone, week_start=week_start).end(start) == end


def test_calendar_windows_are_compared_pickled_and_validated() -> None:
    windows = CalendarWindows("week", 2, tz="Europe/Berlin", grace=hours(1))
    windows.starts(0)
    assert pickle.loads(pickle.dumps(windows)) == windows
    assert windows != CalendarWindows("week", 2, tz="Europe/Paris", grace=hours(1))
    wrong: list[dict[str, object]] = [
        {"unit": "hour"},
        {"unit": "day", "count": 0},
        {"unit": "week", "week_start": "mon"},
        {"unit": "day", "grace": hours(-1)},
    ]
    for arguments in wrong:
        with pytest.raises(ValueError, match="expected"):
            CalendarWindows(**arguments)  # type: ignore[arg-type]  # invalid on purpose
