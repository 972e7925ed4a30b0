"""Brute-force models of windowed aggregations.

The rules of `kstreams.windows.rules` are written again from its documentation, without its
functions, so that a mistake in either is found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.support.windows.windowed_runs import Row

Finals = dict[tuple[str, int, int], list[int]]
"""Sorted values by key, start and end (ms)."""


def time_finals(windows: Any, rows: Sequence[Row]) -> tuple[Finals, int]:
    """Return the final results of all windows, and the number of late pairs."""
    finals: Finals = defaultdict(list)
    late, now = 0, -1
    for key, value, time in rows:
        now = max(now, time)
        for start in windows.starts(time):
            end = windows.end(start)
            if end + windows.close_delay_ms <= now:
                late += 1
            else:
                finals[key, start, end].append(value)
    return {handle: sorted(values) for handle, values in finals.items()}, late


def session_finals(gap: int, grace: int, rows: Sequence[Row]) -> tuple[Finals, int]:
    """Return the final results of all sessions, and the number of late records."""
    sessions: list[list[Any]] = []
    late, now = 0, -1
    for key, value, time in rows:
        now = max(now, time)
        limit = now - gap - grace
        near = [
            s
            for s in sessions
            if s[0] == key and s[2] >= time - gap and s[1] <= time + gap and s[2] >= limit
        ]
        if not near and time < limit:
            late += 1
            continue
        start = min([time, *(s[1] for s in near)])
        end = max([time, *(s[2] for s in near)])
        values = [value, *(v for s in near for v in s[3])]
        sessions = [s for s in sessions if s not in near]
        sessions.append([key, start, end, values])
    return {(k, s, e): sorted(values) for k, s, e, values in sessions}, late


def sliding_finals(span: int, grace: int, rows: Sequence[Row]) -> tuple[Finals, int]:
    """Return the final results of all windows, and the number of late records.

    After each record, all open windows of accepted records exist and contain all accepted records
    within them; closed windows do not change.
    """
    accepted: list[Row] = []
    finals: Finals = {}
    late, now = 0, -1
    for key, value, time in rows:
        now = max(now, time)
        limit = now - grace
        if time + span < limit:
            late += 1
            continue
        accepted.append((key, value, time))
        for k, _, t in accepted:
            for start in (max(t, span) - span, t + 1):
                held = sorted(
                    v for k2, v, t2 in accepted if k2 == k and start <= t2 <= start + span
                )
                if held and start + span >= limit:
                    finals[k, start, start + span] = held
    return finals, late
