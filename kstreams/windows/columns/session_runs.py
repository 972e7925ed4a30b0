"""Sessions of many keys: runs of records, merged with stored sessions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kstreams._types import Bools, Ints
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.columns.grouping import grouped
from kstreams.columns.runs import Runs
from kstreams.serde.layout import Columns
from kstreams.state.stores.session.columns import Sessions

__all__ = ("Joined", "SessionRuns", "joined_sessions", "session_runs")


@dataclass(frozen=True)
class SessionRuns:
    """Runs of records of one key, with at most the inactivity gap between successive records.

    Attributes:
        order: The row numbers of the records, sorted by key, time and arrival.
        runs: The runs.
        times: The times of the sorted records, ms.
        lifted: The states of the sorted records, one per record.
        sessions: The session of each run; its attribute `rows` contains the key numbers.
    """

    order: Ints
    runs: Runs
    times: Ints
    lifted: Columns
    sessions: Sessions


@dataclass(frozen=True)
class Joined:
    """Sessions after a batch, and the earlier sessions that they contain.

    Attributes:
        sessions: The sessions, by key, then by start.
        changed: Whether the batch changed or created a session.
        owner: For each stored session, the index of the session that now contains it.
        made: For each run of the batch, the index of the session that contains it.
    """

    sessions: Sessions
    changed: Bools
    owner: Ints
    made: Ints


def session_runs(
    form: ColumnForm, codes: Ints, times: Ints, lifted: Columns, gap_ms: int
) -> SessionRuns:
    """Divide records (at least one) into runs.

    Args:
        form: Merges states.
        codes: The key number of each record.
        times: The time of each record, ms.
        lifted: The states of the records, one per record.
        gap_ms: The inactivity gap, ms.
    """
    low = int(times.min())
    order = grouped(codes, times - low, int(times.max()) - low + 1).order
    codes, times = codes[order], times[order]
    lifted = tuple(column[order] for column in lifted)
    breaks = (codes[1:] != codes[:-1]) | (times[1:] - times[:-1] > gap_ms)
    runs = Runs(np.concatenate(([0], np.flatnonzero(breaks) + 1)), len(order))
    state = form.reduce(lifted, runs)
    sessions = Sessions(codes[runs.firsts], times[runs.firsts], times[runs.lasts], state)
    return SessionRuns(order, runs, times, lifted, sessions)


def joined_sessions(form: ColumnForm, stored: Sessions, made: Sessions, gap_ms: int) -> Joined:
    """Merge all sessions of a key that are at most a gap apart.

    Args:
        form: Merges states; stored states come first.
        stored: The stored open sessions, with more than a gap between them.
        made: The sessions of the batch's runs.
        gap_ms: The inactivity gap, ms.
    """
    codes = np.concatenate((stored.rows, made.rows))
    starts = np.concatenate((stored.starts, made.starts))
    ends = np.concatenate((stored.ends, made.ends))
    state = tuple(
        np.concatenate((one, other)) for one, other in zip(stored.state, made.state, strict=True)
    )
    order = np.lexsort((starts, codes))
    firsts = _breaks(codes[order], starts[order], ends[order], gap_ms)
    group = np.empty(len(order), np.int64)
    group[order] = np.repeat(np.arange(len(firsts)), np.diff(firsts, append=len(order)))
    # The stored session is always the earlier part: the order decides between equal times.
    order = np.lexsort((starts, np.arange(len(order)) >= len(stored.rows), group))
    runs = Runs(firsts, len(order))
    sessions = Sessions(
        codes[order][firsts],
        np.minimum.reduceat(starts[order], firsts),
        runs.highest(ends[order]),
        form.reduce(tuple(column[order] for column in state), runs),
    )
    changed = np.zeros(len(firsts), bool)
    changed[group[len(stored.rows) :]] = True
    return Joined(sessions, changed, group[: len(stored.rows)], group[len(stored.rows) :])


def _breaks(codes: Ints, starts: Ints, ends: Ints, gap_ms: int) -> Ints:
    """Return the indexes at which a new session begins, for spans sorted by key and start.

    Args:
        codes: The key number of each span.
        starts: The start of each span, ms.
        ends: The end of each span, ms.
        gap_ms: The inactivity gap, ms.
    """
    # Ends become ranks, so that one running maximum serves all keys.
    each, ranks = np.unique(ends, return_inverse=True)
    furthest = np.maximum.accumulate(codes * len(each) + ranks) - codes * len(each)
    far = starts[1:] > each[furthest[:-1]] + gap_ms
    return np.concatenate(([0], np.flatnonzero((codes[1:] != codes[:-1]) | far) + 1))
