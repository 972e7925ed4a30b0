"""Parsing of times, time spans, and start positions in topics."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from kstreams.connection import TopicAdmin
from kstreams_admin.moments import ms_of
from kstreams_cli.usage import WrongUsageError

__all__ = ("Start", "parse_moment", "parse_span", "parse_start")

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h)")
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours"}


@dataclass(frozen=True)
class Start:
    """The start of reading a topic.

    Attributes:
        kind: `offset` counts from 0, `back` from the end of each partition, `time` is in
            milliseconds since the epoch.
        number: The offset, the count or the time.
    """

    kind: Literal["beginning", "end", "offset", "back", "time"]
    number: int = 0

    def offsets(self, admin: TopicAdmin, topic: str) -> dict[int, int]:
        """Return the start offset in each partition, between its first offset and its end."""
        first, end = admin.beginning_offsets(topic), admin.end_offsets(topic)
        match self.kind:
            case "beginning":
                return first
            case "end":
                return end
            case "time":
                return admin.offsets_at(topic, self.number)
            case "offset":
                return {p: min(max(first[p], self.number), end[p]) for p in end}
            case "back":
                return {p: max(first[p], end[p] - self.number) for p in end}


def parse_start(text: str) -> Start:
    """Parse a start position: `beginning`, `end`, `42`, `-10` (ten before the end) or a time.

    Raises:
        WrongUsageError: The text is not a start position.
    """
    if text in ("beginning", "end"):
        return Start("beginning" if text == "beginning" else "end")
    if re.fullmatch(r"\d+", text):
        return Start("offset", int(text))
    if re.fullmatch(r"-\d+", text):
        return Start("back", -int(text))
    try:
        return Start("time", parse_moment(text))
    except WrongUsageError:
        raise WrongUsageError(
            f"{text!r} is not a position in a topic: expected beginning, end, an offset, -N for N "
            "records before the end, or a time such as 2024-05-01T12:00:00Z"
        ) from None


def parse_moment(text: str) -> int:
    """Parse a time, and return milliseconds since the epoch.

    Args:
        text: ISO 8601, in UTC if it names no zone, or `@` and milliseconds since the epoch.

    Raises:
        WrongUsageError: The text is not a time.
    """
    try:
        return ms_of(text)
    except ValueError:
        raise WrongUsageError(
            f"{text!r} is not a time: expected a time such as 2024-05-01T12:00:00Z, or @ and "
            "milliseconds since 1970"
        ) from None


def parse_span(text: str) -> timedelta:
    """Parse a time span such as `100ms`, `2s`, `1.5m` or `1h`; `0` needs no unit.

    Raises:
        WrongUsageError: The text is not a time span.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None and text.strip() == "0":
        return timedelta(0)
    if found is None:
        raise WrongUsageError(
            f"{text!r} is not a duration: expected a number and a unit, such as 100ms, 2s or 5m"
        )
    return timedelta(**{_UNITS[found[2]]: float(found[1])})
