"""Names of state: made of meaning, so that they survive unrelated changes of the code."""

from __future__ import annotations

import re
from datetime import timedelta

from kstreams.windows.kinds.calendar import CalendarWindows
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.kinds.session import SessionWindows
from kstreams.windows.kinds.sliding import SlidingWindows
from kstreams.windows.kinds.tumbling import TumblingWindows

__all__ = ("dashed", "kebab", "windows_name")

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


def kebab(name: str) -> str:
    """Return a name in lower case with dashes: `CountWords` is `count-words`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    return re.sub(r"[^a-z0-9]+", "-", apart.lower()).strip("-")


def dashed(*parts: str) -> str:
    """Return the parts that are not empty, joined by dashes."""
    return "-".join(part for part in parts if part)


def windows_name(kind: object) -> str:
    """Return the name of windows by their size; the grace is no part of it.

    `per-1m`, `per-5m-every-1m`, `within-90s`, `sessions-30m`, `per-month-europe-berlin`; windows of
    another kind are called by their class.
    """
    match kind:
        case TumblingWindows():
            return f"per-{_span(kind.size)}"
        case HoppingWindows():
            return f"per-{_span(kind.size)}-every-{_span(kind.advance)}"
        case SlidingWindows():
            return f"within-{_span(kind.difference)}"
        case SessionWindows():
            return f"sessions-{_span(kind.gap)}"
        case CalendarWindows():
            zone, number = "" if kind.tz == "UTC" else kebab(kind.tz), kind.count
            return dashed("per", str(number) if number > 1 else "", kind.unit, zone)
        case _:
            return kebab(type(kind).__name__)


def _span(span: timedelta) -> str:
    """Return a time span in the largest unit of which it is a multiple."""
    ms = span // timedelta(milliseconds=1)
    return next(f"{ms // size}{unit}" for unit, size in _UNITS if ms % size == 0)
