"""Times in user input and output: ISO 8601, or `@` and milliseconds since 1970."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from kstreams.clock import to_ms

__all__ = ("iso", "ms_of")

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MS = re.compile(r"@-?[0-9]{1,18}")


def ms_of(text: str) -> int:
    """Return milliseconds since the epoch.

    Args:
        text: ISO 8601, in UTC if it has no time zone, or `@` and milliseconds.

    Raises:
        ValueError: The text has neither form.
    """
    if _MS.fullmatch(text):
        return int(text[1:])
    moment = datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    return to_ms(moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc))


def iso(ms: int) -> str:
    """Return a time in UTC as ISO 8601 with milliseconds; a time out of range as `@` and ms."""
    try:
        moment = _EPOCH + timedelta(milliseconds=ms)
    except OverflowError:
        return f"@{ms}"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
