"""Human-readable texts of numbers, sizes and times."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

__all__ = (
    "age",
    "amount",
    "clock_time",
    "count",
    "dollars",
    "moment",
    "near",
    "rate",
    "seconds",
    "share",
    "size",
)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_THOUSAND = 1000
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


def count(number: float) -> str:
    """Return the text of a number, rounded to a whole number, with separated thousands."""
    return f"{round(number):,}"


def amount(number: float) -> str:
    """Return a number in at most four characters and a unit prefix: 4,585 is 4.6 k."""
    for letter in ("", " k", " M", " G", " T"):
        if abs(number) < _THOUSAND:
            return f"{_short(number)}{letter}"
        number /= _THOUSAND
    return f"{number:,.0f} P"


def dollars(number: float) -> str:
    """Return the text of an amount in dollars, with cents."""
    return "< $0.01" if 0 < number < 0.01 else f"${number:,.2f}"


def rate(number: float | None) -> str:
    """Return a rate per second as text; a dash if it is not known."""
    if number is None:
        return "—"
    return f"{count(number) if number >= 10 else _short(number)}/s"  # digits


def size(number: float) -> str:
    """Return the text of a size, given in bytes, in a suitable unit."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if number < _THOUSAND:
            return f"{_short(number)} {unit}"
        number /= _THOUSAND
    return f"{number:,.0f} PB"


def seconds(span: float) -> str:
    """Return the text of a duration in seconds, in a suitable unit."""
    if span < 0:
        return f"-{seconds(-span)}"
    if span < 1:
        return f"{span * _THOUSAND:.0f} ms"
    if span < _MINUTE:
        return f"{span:.1f} s" if span < 10 else f"{span:.0f} s"
    if span < _HOUR:
        return f"{int(span // _MINUTE)} min {int(span % _MINUTE)} s"
    if span < _DAY:
        return f"{int(span // _HOUR)} h {int(span % _HOUR // _MINUTE)} min"
    return f"{int(span // _DAY)} d {int(span % _DAY // _HOUR)} h"


def age(since_ms: int, now_ms: int) -> str:
    """Return the text of the time since an event, such as `2 min 5 s ago`."""
    span = (now_ms - since_ms) / _THOUSAND
    return "now" if abs(span) < 0.05 else f"{seconds(span)} ago"


def share(part: float) -> str:
    """Return a fraction between 0 and 1 as a percentage."""
    return f"{part * 100:.0f} %" if part >= 0.01 or part == 0 else "< 1 %"


def moment(wall_ms: int) -> str:
    """Return the text of a date and time, in UTC."""
    found = _at(wall_ms)
    return f"@{wall_ms}" if found is None else f"{found:%Y-%m-%d %H:%M:%S} UTC"


def near(wall_ms: int, now_ms: int) -> str:
    """Return the text of a time in UTC, without the date if it is today."""
    found, today = _at(wall_ms), _at(now_ms)
    if found is None or today is None:
        return f"@{wall_ms}"
    return f"{found:%H:%M:%S}" if found.date() == today.date() else f"{found:%Y-%m-%d %H:%M:%S}"


def clock_time(wall_ms: int) -> str:
    """Return the text of a time of day, in UTC."""
    found = _at(wall_ms)
    return f"@{wall_ms}" if found is None else f"{found:%H:%M:%S}"


def _at(wall_ms: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(milliseconds=wall_ms)
    except OverflowError:
        return None


def _short(number: float) -> str:
    """Format a number below 1,000: whole numbers as they are, others like 1.2, 12.3 and 123."""
    if number == int(number):
        return str(int(number))
    return f"{number:.1f}" if abs(number) < 100 else f"{number:.0f}"
