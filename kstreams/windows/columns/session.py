"""Columnar aggregation by session windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Ints
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.columns.in_order import seeded
from kstreams.columns.keys import KeyCodes
from kstreams.columns.running import replaced
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import objects_of
from kstreams.state.stores.session.columns import SessionColumns, Sessions
from kstreams.state.stores.session.rows import SessionRows
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.columns.batch import Batch
from kstreams.windows.columns.fallback import RecordFallback, late_keys, out_of_order_keys
from kstreams.windows.columns.processor import WindowedColumns
from kstreams.windows.columns.results import Placed, Results, by_place, joined
from kstreams.windows.columns.session_order import Arrivals
from kstreams.windows.columns.session_runs import Joined, SessionRuns, joined_sessions, session_runs
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.session import session_join
from kstreams.windows.rules import by_end, closed_end

__all__ = ("SessionWindowColumns",)


class SessionWindowColumns(WindowedColumns):
    """The columnar implementation of `SessionAggregate`.

    Records that are sorted by key and time form runs, and runs are merged with stored sessions. The
    results equal record-by-record aggregation, except for keys with a record later than the grace,
    which could join a closed session. The records of such keys are aggregated one by one; with
    `each_update()`, so are the records of keys with out-of-order records.
    """

    def __init__(self, plan: AggregationPlan, source: ColumnSource, form: ColumnForm) -> None:
        super().__init__(plan, source, reads_values=form.reads_values)
        self._form = form
        self._gap: int = plan.windows.gap_ms

    def init(self, context: BatchContext) -> None:
        """Open the store."""
        super().init(context)
        sessions: SessionRows[Any, Any] = SessionRows.of(context.store(self.plan.store))
        self._store = SessionColumns(sessions)
        self._fallback = RecordFallback(
            self.plan,
            self.source,
            self._form,
            lambda emitter, late: session_join(self.plan, sessions, emitter, late),
        )

    def aggregate(self, table: pa.Table, closed_ms: int) -> Sequence[Results]:
        """Aggregate a table; see `WindowedColumns`."""
        batch = self.batch_of(self.without_early(self.without_nulls(table, "key")))
        ended = self._aggregate(batch, closed_ms) if len(batch) else ()
        return [*ended, *self.take_ended(closed_ms)]

    def take_ended(self, closed_ms: int) -> Sequence[Results]:
        """Delete sessions that have ended; see `WindowedColumns`."""
        due = self._store.due(closed_ms)
        if not due:
            return ()
        timers, sessions = self._store.read(due)
        over = sessions.ends <= closed_ms
        self._store.reschedule(due, timers, sessions.take(~over))
        if not self.plan.emits_on_close:
            return ()
        return (self._results(sessions.take(over), self.stored_keys(due)),)

    def finals_order(self, results: Results) -> tuple[Any, ...]:
        """Return the columns of ends, starts and keys; see `WindowedColumns`."""
        return by_end(results.ends, results.starts, results.keys)

    def last_end(self) -> int | None:
        """Return the last end of a session, ms; None if there is no session."""
        ends = self._store.read(self._store.keys())[1].ends
        return int(ends.max()) if len(ends) else None

    def _aggregate(self, batch: Batch, closed: int) -> Sequence[Results]:
        """Aggregate records; return ended sessions with `on_close()`, otherwise nothing."""
        keys, codes = batch.keys, batch.keys.codes
        handles: list[bytes] = objects_of(keys.stored)
        timers, stored = self._store.read(handles)
        opened = stored.ends > closed_end(int(batch.lateness_times[0]), self.close_delay)
        fallback = late_keys(batch, self.close_delay - self._gap - 1)
        if self.each_update:
            before = stored.take(opened)
            fallback |= out_of_order_keys(batch, before.rows, before.ends)
        joined_up = self._joined(batch, fallback, stored.take(opened))
        rows = np.flatnonzero(~fallback[codes])
        parts: list[Placed] = []
        ended: Sequence[Results] = ()
        if joined_up is not None:
            before, runs, found = joined_up
            passed = stored.take(~opened & ~fallback[stored.rows])
            if self.each_update:
                parts.append(self._updates(rows, runs, before, found, keys))
            elif not self.plan.emits_on_close:
                self.hold(self._changes(before, found, keys))
            ended = self._write(handles, timers, (passed, found.sessions), keys, closed)
        if len(rows) < len(codes):
            parts.append(self._one_by_one(batch, np.flatnonzero(fallback[codes])))
        if self.each_update:
            places, results = by_place(parts)
            self.forward_updates(batch, places // 2, results)
        elif len(rows) < len(codes) and not self.plan.emits_on_close:
            self.hold(replace(parts[-1][1], unique=False))
        return ended

    def _joined(
        self, batch: Batch, fallback: Bools, stored: Sessions
    ) -> tuple[Sessions, SessionRuns, Joined] | None:
        """Merge records with the stored open sessions; None if all keys are excluded.

        Args:
            batch: The records.
            fallback: The mask of excluded keys; the method adds the keys whose states would differ
                from those of record-by-record aggregation.
            stored: The open sessions.

        Returns:
            The stored sessions of the keys, the runs of their records, and the merged sessions.
        """
        rows = np.flatnonzero(~fallback[batch.keys.codes])
        if not len(rows):
            return None
        before, times = stored.take(~fallback[stored.rows]), batch.times[rows]
        with batch.naming(rows):
            lifted = self._form.lift(batch.values().take(rows), times)
        runs = session_runs(self._form, batch.keys.codes[rows], times, lifted, self._gap)
        found = joined_sessions(self._form, before, runs.sessions, self._gap)
        if self._form.exact:
            return before, runs, found
        arrivals = Arrivals(before, runs, found)
        bridged = arrivals.bridged(self._gap)
        if len(bridged):
            fallback[bridged] = True
            return self._joined(batch, fallback, stored)
        sessions = replace(found.sessions, state=arrivals.states(self._form))
        return before, runs, replace(found, sessions=sessions)

    def _write(
        self,
        handles: list[bytes],
        timers: list[int | None],
        parts: tuple[Sessions, Sessions],
        keys: KeyCodes,
        closed: int,
    ) -> Sequence[Results]:
        """Write the sessions of keys; return ended sessions with `on_close()`, else nothing.

        Args:
            handles: The store key of each key, by key number.
            timers: The stored timer of each key, by key number.
            parts: The stored sessions that were already closed, and the merged sessions.
            keys: The keys.
            closed: Sessions that end at this time (ms) or before have ended.
        """
        passed, found = parts
        whole = Sessions(
            np.concatenate((passed.rows, found.rows)),
            np.concatenate((passed.starts, found.starts)),
            np.concatenate((passed.ends, found.ends)),
            tuple(map(np.concatenate, zip(passed.state, found.state, strict=True))),
        )
        whole = whole.take(np.lexsort((whole.starts, whole.rows)))
        own, places = np.unique(whole.rows, return_inverse=True)
        kept = whole.ends > closed
        remaining = replace(whole, rows=places).take(kept)
        names = own.tolist()
        self._store.write([handles[n] for n in names], [timers[n] for n in names], remaining)
        return (self._results(whole.take(~kept), keys.typed),) if self.plan.emits_on_close else ()

    def _results(self, sessions: Sessions, keys: pa.Array) -> Results:
        return Results(
            keys.take(pa.array(sessions.rows)),
            sessions.starts,
            sessions.ends,
            self._form.result(sessions.state),
            sessions.ends,
        )

    def _changes(self, before: Sessions, found: Joined, keys: KeyCodes) -> Results:
        """Return deletions of replaced sessions, then the changed sessions.

        Args:
            before: The stored sessions before the batch.
            found: The sessions after the batch.
            keys: The keys.
        """
        after = found.sessions
        same = (before.starts == after.starts[found.owner]) & (
            before.ends == after.ends[found.owner]
        )
        gone = self._results(before.take(found.changed[found.owner] & ~same), keys.typed).deleted()
        return joined([gone, self._results(after.take(found.changed), keys.typed)])

    def _updates(
        self, rows: Ints, runs: SessionRuns, before: Sessions, found: Joined, keys: KeyCodes
    ) -> Placed:
        """Return the deletions and results after each record, with their sort positions.

        The records of each key must be in time order and later than its stored sessions, so a run
        continues at most one session.

        Args:
            rows: The row numbers of the records in the batch.
            runs: The runs of the records.
            before: The stored sessions before the batch.
            found: The sessions after the batch.
            keys: The keys.
        """
        run_start, run_end = runs.sessions.starts, np.full(len(runs.sessions.starts), -1)
        base = self._base(before, found)
        has = np.flatnonzero(base >= 0)
        if len(has):
            run_start = replaced(run_start, has, before.starts[base[has]])
            run_end[has] = before.ends[base[has]]
        earlier = tuple(column[base[has]] for column in before.state)
        whole = seeded(self._form.merge, runs.lifted, runs.runs, earlier, has)
        state = self._form.scan(whole, runs.runs)
        places = rows[runs.order]
        codes = runs.runs.repeat(runs.sessions.rows)
        starts = runs.runs.repeat(run_start)
        ends = runs.times
        previous = np.concatenate(([-1], ends[:-1]))
        previous[runs.runs.firsts] = run_end
        results = self._results(Sessions(codes, starts, ends, state), keys.typed)
        old = np.flatnonzero((previous >= 0) & (starts != ends))
        gone = replace(results.take(old), ends=previous[old], times=previous[old]).deleted()
        return np.concatenate((2 * places[old], 2 * places + 1)), joined([gone, results])

    def _base(self, before: Sessions, found: Joined) -> Ints:
        """Return, for each new session, the stored session that it extends; -1 for none."""
        of_session = np.full(len(found.sessions.rows), -1)
        of_session[found.owner] = np.arange(len(before.rows))
        # Each changed session has one run, in the same order.
        return of_session[np.flatnonzero(found.changed)]

    def _one_by_one(self, batch: Batch, rows: Ints) -> Placed:
        """Aggregate records one by one; return the results with their sort positions.

        The sort position is twice the row number of the record, plus one unless the result is a
        deletion.
        """
        late, places, results = self._fallback.aggregate(batch, rows)
        if len(late):
            times = batch.times[late]
            self.refuse(batch, Assigned(late, times, times, 1))
        gone = results.values.is_null().to_numpy(zero_copy_only=False)
        return 2 * places + ~gone, results
