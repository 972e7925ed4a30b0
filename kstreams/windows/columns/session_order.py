"""Merge session states in the order of arrival, as record-by-record aggregation does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kstreams._types import Ints
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.columns.grouping import grouped
from kstreams.columns.in_order import seeded
from kstreams.columns.running import replaced
from kstreams.columns.runs import Runs
from kstreams.serde.layout import Columns
from kstreams.state.stores.session.columns import Sessions
from kstreams.windows.columns.session_runs import Joined, SessionRuns

__all__ = ("Arrivals",)


class Arrivals:
    """The records of joined sessions, by session, then by arrival.

    Args:
        stored: The stored open sessions.
        runs: The records of the batch.
        found: The merged sessions.
    """

    def __init__(self, stored: Sessions, runs: SessionRuns, found: Joined) -> None:
        self._stored = stored
        self._sessions = found.sessions
        self._rows, self._runs, self._touched = _by_arrival(runs, found)
        self._times = runs.times[self._rows]
        self._lifted = runs.lifted
        places = np.full(len(found.sessions.rows), -1)
        places[self._touched] = np.arange(len(self._touched))
        owners = places[found.owner]
        self._own = np.flatnonzero(owners >= 0)  # stored sessions that got records
        self._places = owners[self._own]  # and which groups those are

    def bridged(self, gap_ms: int) -> Ints:
        """Return the numbers of keys for which a record has merged two sessions.

        Record-by-record aggregation merges the states of the two sessions, so the state of the
        session does not equal the states of its records merged from left to right.
        """
        firsts = self._runs.firsts
        bad = np.bincount(self._places, minlength=len(firsts)) > 1
        first = self._times[firsts]
        starts, ends = first.copy(), first.copy()
        stored_starts, stored_ends = self._stored.starts[self._own], self._stored.ends[self._own]
        begun = first[self._places]
        far = (begun < stored_starts - gap_ms) | (begun > stored_ends + gap_ms)
        bad[self._places[far]] = True
        starts[self._places] = np.minimum(begun, stored_starts)
        ends[self._places] = np.maximum(begun, stored_ends)
        back = np.flatnonzero(self._times[1:] < self._times[:-1]) + 1
        disordered = np.zeros(len(firsts), bool)
        disordered[self._runs.of_row[back[~np.isin(back, firsts)]]] = True
        disordered &= ~bad
        if disordered.any():
            bad[self._apart(disordered, starts, ends, gap_ms)] = True
        return np.unique(self._sessions.rows[self._touched[bad]])

    def _apart(self, which: npt.NDArray[np.bool_], starts: Ints, ends: Ints, gap_ms: int) -> Ints:
        """Return the sessions with a record that began a separate session when it arrived.

        Such a record is more than the gap before or after all earlier records of the session.

        Args:
            which: The mask of sessions to examine.
            starts: The start of each session before its second record, ms.
            ends: The end of each session before its second record, ms.
            gap_ms: The inactivity gap, ms.
        """
        rows = np.flatnonzero(self._runs.repeat(which))
        group = self._runs.of_row[rows]
        times = self._times[rows]
        begins = np.flatnonzero(np.diff(group, prepend=-1))
        low, high = times.copy(), times.copy()
        low[begins], high[begins] = starts[group[begins]], ends[group[begins]]
        # Times become ranks, so that one running maximum serves all groups.
        each, ranks = np.unique(np.concatenate((low, high)), return_inverse=True)
        base = group * len(each)
        last = len(each) - 1
        lows, highs = last - ranks[: len(low)], ranks[len(low) :]
        lowest = each[last - (np.maximum.accumulate(base + lows) - base)]
        highest = each[np.maximum.accumulate(base + highs) - base]
        later = np.setdiff1d(np.arange(len(rows)), begins, assume_unique=True)
        before = later - 1
        apart = (times[later] > highest[before] + gap_ms) | (times[later] < lowest[before] - gap_ms)
        return np.unique(group[later[apart]])

    def states(self, form: ColumnForm) -> Columns:
        """Return the states of all sessions, whose keys must not be in `bridged`."""
        lifted = tuple(column[self._rows] for column in self._lifted)
        before = tuple(column[self._own] for column in self._stored.state)
        whole = seeded(form.merge, lifted, self._runs, before, self._places)
        pairs = zip(self._sessions.state, form.reduce(whole, self._runs), strict=True)
        return tuple(replaced(column, self._touched, new) for column, new in pairs)


def _by_arrival(runs: SessionRuns, found: Joined) -> tuple[Ints, Runs, Ints]:
    """Sort records by session and arrival.

    Returns the positions of the records in this order, the runs of records of one session, and
    the session of each run.
    """
    firsts = runs.runs.firsts
    rising = np.diff(runs.order, prepend=-1) > 0
    rising[firsts] = True
    if rising.all() and np.bincount(found.made).max() == 1:  # a session is a run, in order
        return np.arange(runs.runs.count), runs.runs, found.made
    arrived = np.argsort(runs.order)
    session = found.made[runs.runs.of_row][arrived]
    groups = grouped(session, np.zeros_like(session), 1)
    return arrived[groups.order], groups.runs, session[groups.first]
