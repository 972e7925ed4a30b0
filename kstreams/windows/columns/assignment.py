"""Assignment of a column of times to windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kstreams._types import Ints
from kstreams.windows.contract import TimeWindows

__all__ = ("Assigned", "Assigner", "searched")


@dataclass(frozen=True)
class Assigned:
    """Pairs of a record and a window that contains its time, ordered by record, then by start.

    Attributes:
        rows: The row number of the record of each pair.
        starts: The start of the window of each pair, ms.
        ends: The end of the window of each pair, ms.
        grid: A common divisor of all differences between starts, ms.
    """

    rows: Ints
    starts: Ints
    ends: Ints
    grid: int


class Assigner:
    """Assigns times to the windows of one definition.

    Args:
        assign: Returns the pairs of records and windows for a column of times (ms).
        closed_before: Takes a time (ms), and returns a start (ms): all windows with an earlier
            start have ended by that time. Returns None if no window has ended.
        most: The maximum number of windows that contain a time.
        pane_ms: For overlapping windows, a span (ms): all times from one multiple of the span to
            the next have the same windows. 0 for other windows.
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


def searched(windows: TimeWindows) -> Callable[[Ints], Assigned]:
    """Return a function that assigns times to windows.

    The function sorts the times, and calls `windows.starts` once for all times of a window.

    Args:
        windows: Windows that do not overlap.
    """

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
