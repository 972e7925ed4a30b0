"""The times of dropped records: by node and reason, from an app's telemetry by the minute."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kstreams.telemetry.minutes import MINUTE_MS, Minute

__all__ = ("SPANS", "DropHistory", "DropSeries", "DropTime", "drop_history")

SPANS = (1, 6, 24, 72)
"""The lengths of time that the page offers, in hours."""

_PARTS = 60
_MOST_SERIES = 20
_MOST_TIMES = 40


@dataclass(frozen=True)
class DropSeries:
    """The records that a node dropped for one reason, over time.

    Attributes:
        node: The node.
        reason: The reason.
        total: The number of records.
        last_ms: The start of the last minute with a dropped record, ms since the epoch.
        line: The number of dropped records in each interval of the `DropHistory`.
    """

    node: str
    reason: str
    total: int
    last_ms: int
    line: Sequence[float]


@dataclass(frozen=True)
class DropTime:
    """The records that a node dropped for one reason in one interval of a `DropHistory`.

    Attributes:
        start_ms: The start of the interval, ms since the epoch.
        node: The node.
        reason: The reason.
        count: The number of records.
    """

    start_ms: int
    node: str
    reason: str
    count: int


@dataclass(frozen=True)
class DropHistory:
    """The dropped records in the last hours, which are divided into equal intervals.

    Attributes:
        hours: The number of hours.
        since_ms: The start of the first interval, ms since the epoch.
        part_ms: The length of an interval, ms.
        series: The dropped records by node and reason, the largest total first.
        more: The number of omitted series.
        times: The intervals with dropped records, newest first.
        earlier: The number of omitted items of `times`.
    """

    hours: int
    since_ms: int
    part_ms: int
    series: Sequence[DropSeries]
    more: int
    times: Sequence[DropTime]
    earlier: int


def drop_history(minutes: Sequence[Minute], hours: int, now_ms: int) -> DropHistory:
    """Return the dropped records in the last hours.

    Args:
        minutes: The telemetry of queries by the minute.
        hours: The number of hours.
        now_ms: The current time, ms since the epoch.
    """
    part_ms = hours * 60 * MINUTE_MS // _PARTS
    since = (now_ms // part_ms + 1 - _PARTS) * part_ms
    parts: dict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    last: dict[tuple[str, str], int] = {}
    for minute in minutes:
        part = (minute.start_ms - since) // part_ms
        if not 0 <= part < _PARTS:
            continue
        for node, counts in minute.nodes.items():
            for reason, count in counts.dropped.items():
                if count:
                    parts[node, reason][part] += count
                    last[node, reason] = max(last.get((node, reason), 0), minute.start_ms)
    series = sorted(
        (
            DropSeries(
                node, reason, found.total(), last[node, reason],
                [float(found[part]) for part in range(_PARTS)],
            )
            for (node, reason), found in parts.items()
        ),
        key=lambda each: (-each.total, each.node, each.reason),
    )  # fmt: skip
    times = sorted(
        (
            DropTime(since + part * part_ms, node, reason, count)
            for (node, reason), found in parts.items()
            for part, count in found.items()
        ),
        key=lambda each: (-each.start_ms, -each.count, each.node, each.reason),
    )
    return DropHistory(
        hours,
        since,
        part_ms,
        series[:_MOST_SERIES],
        max(0, len(series) - _MOST_SERIES),
        times[:_MOST_TIMES],
        max(0, len(times) - _MOST_TIMES),
    )
