"""The windows of a column of times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from kstreams._types import Ints
from kstreams.windowed import NEVER_ENDS
from kstreams.windows.kinds.calendar import CalendarWindows
from kstreams.windows.kinds.hopping import HoppingWindows
from kstreams.windows.kinds.tumbling import TumblingWindows
from kstreams.windows.kinds.unlimited import UnlimitedWindows

__all__ = ("Assigned", "Assigner", "assigner")


@dataclass(frozen=True)
class Assigned:
    """Pairs of a record and a window that contains its time, ordered by record, then by start.

    Attributes:
        rows: The record of each pair.
        starts: The start of each window, ms.
        ends: The end of each window, ms.
        grid: A common divisor of all differences between starts, ms.
    """

    rows: Ints
    starts: Ints
    ends: Ints
    grid: int


class Assigner:
    """Assigns times to the windows of one definition.

    Args:
        assign: Returns the pairs.
        closed_before: Returns the start that separates windows that have ended by a given time from
            all others; None if no window has ended.
        most: The maximum number of windows that contain a time.
        pane_ms: For overlapping windows a span: all times from one multiple of it to the next have
            the same windows. 0 for other windows.
    """

    def __init__(
        self,
        assign: Callable[[Ints], Assigned],
        closed_before: Callable[[int], int | None],
        most: int = 1,
        pane_ms: int = 0,
    ) -> None:
        self.assign = assign
        self.closed_before = closed_before
        self.most = most
        self.pane_ms = pane_ms


def assigner(windows: Any) -> Assigner | None:  # noqa: ANN401  # any kind of windows
    """Return the assigner of the windows, or None for custom kinds."""
    match windows:
        case TumblingWindows(size_ms=size):
            return Assigner(_tumbling(size), lambda closed: closed - size + 1)
        case HoppingWindows(size_ms=size, advance_ms=advance):
            most = windows.windows_of_a_record
            pane = gcd(size, advance) if most > 1 else 0
            return Assigner(_hopping(size, advance), lambda closed: closed - size + 1, most, pane)
        case CalendarWindows():
            return Assigner(_searched(windows), partial(_closed_before, windows))
        case UnlimitedWindows():
            after = windows.start_ms + 1
            closed_before = partial(_unlimited_closed_before, after)
            return Assigner(_searched(windows), closed_before)
        case _:
            return None


def _tumbling(size: int) -> Callable[[Ints], Assigned]:
    def assign(times: Ints) -> Assigned:
        rows = np.arange(len(times))
        if len(times) and times.min() < 0:
            rows = np.flatnonzero(times >= 0)
            times = times[rows]
        starts = times - times % size
        return Assigned(rows, starts, starts + size, size)

    return assign


def _hopping(size: int, advance: int) -> Callable[[Ints], Assigned]:
    def assign(times: Ints) -> Assigned:
        rows = np.flatnonzero(times >= 0)
        times = times[rows]
        first = np.maximum(times - size + advance, 0) // advance
        counts = times // advance - first + 1
        ends = np.cumsum(counts)
        ramp = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        starts = (np.repeat(first, counts) + ramp) * advance
        return Assigned(np.repeat(rows, counts), starts, starts + size, advance)

    return assign


def _closed_before(windows: CalendarWindows, closed: int) -> int:
    """Return the start of a time's window: what began before it has ended by that time."""
    found = windows.starts(closed)
    return found[0] if found else closed  # before the first of all windows, or after the last


def _unlimited_closed_before(after: int, closed: int) -> int | None:
    """Return a start after the only one, if a run has closed the window without an end."""
    return after if closed == NEVER_ENDS else None


def _searched(windows: CalendarWindows | UnlimitedWindows) -> Callable[[Ints], Assigned]:
    """Ask the windows themselves, once for each window that is met."""

    def assign(times: Ints) -> Assigned:
        order = np.argsort(times, kind="stable")
        rising = times[order]
        starts, ends = np.zeros_like(times), np.zeros_like(times)
        held = np.zeros(len(times), bool)
        place = 0
        while place < len(rising):
            found = windows.starts(int(rising[place]))
            if not found:
                place += 1
                continue
            end = windows.end(found[0])
            following = int(np.searchsorted(rising, end))
            rows = order[place:following]
            starts[rows], ends[rows], held[rows] = found[0], end, True
            place = following
        rows = np.flatnonzero(held)
        return Assigned(rows, starts[rows], ends[rows], 1)

    return assign
