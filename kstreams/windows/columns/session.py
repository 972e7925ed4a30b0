"""Aggregate whole columns by sessions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._types import Ints
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.in_order import seeded
from kstreams.aggregators.columns.keys import KeyCodes
from kstreams.aggregators.columns.running import replaced
from kstreams.aggregators.columns.values import ValueColumn
from kstreams.processors.columnar import STREAM_TIME, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.emission import EachUpdate, OnClose
from kstreams.serde.objects import objects_of
from kstreams.state.stores.session.columns import SessionColumns, Sessions
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.columns.base import WindowedColumns
from kstreams.windows.columns.fallback import RecordFallback
from kstreams.windows.columns.results import Results, joined, order_by
from kstreams.windows.columns.session_order import Arrivals
from kstreams.windows.columns.session_runs import Joined, SessionRuns, joined_sessions, session_runs
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.session import joining, told

__all__ = ("SessionWindowColumns",)


@dataclass(frozen=True)
class _Batch:
    """Records with keys and times of windows."""

    table: pa.Table
    keys: KeyCodes
    times: Ints
    stream: Ints
    lateness_times: Ints


class SessionWindowColumns(WindowedColumns):
    """The columnar form of `SessionAggregate`.

    Sorted by key and time, records fall into runs, and runs join what is stored: that
    gives what they give one by one as long as none of them meets a session that has
    closed, which takes a record later than the grace. Keys with such a record are
    aggregated one by one; for updates, keys whose records are out of order are too.
    """

    def __init__(self, plan: AggregationPlan, source: ColumnSource, form: ColumnForm) -> None:
        super().__init__(plan, source, reads_values=form.reads_values)
        self._form = form
        self._each = isinstance(plan.emit, EachUpdate)
        self._gap: int = plan.windows.gap_ms
        self._lag: int = plan.windows.close_delay_ms

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        sessions = context.store(self.plan.store)
        self._store: SessionColumns = sessions.columns()
        final = self.plan.emits_on_close
        self._records = RecordFallback(
            self.plan,
            self.source,
            self._form,
            lambda plan, forward, late: joining(
                plan, sessions, None if final else told(plan.aggregator, forward), late
            ),
        )

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate a table."""
        stream = table.column(STREAM_TIME).to_numpy()
        self.seen = int(stream[-1])
        closed = int(self.lateness_times(stream)[-1]) - self._lag
        batch = self._batch(table)
        ended = None if batch is None else self._aggregate(batch, closed)
        self._close(ended, stream, closed)

    def _batch(self, table: pa.Table) -> _Batch | None:
        """Return a table without null keys and times before the epoch."""
        table = self.without_null_keys(table)
        times = table.column("timestamp").to_numpy()
        self.drop("no-window", int((times < 0).sum()))
        if len(times) and times.min() < 0:
            table = table.filter(pa.array(times >= 0))
            times = table.column("timestamp").to_numpy()
        if not table.num_rows:
            return None
        keys = KeyCodes(table.column("key").combine_chunks(), self.source.key)
        stream = table.column(STREAM_TIME).to_numpy()
        return _Batch(table, keys, times, stream, self.lateness_times(stream))

    def close_until(self, closed_ms: int) -> None:
        """Close sessions without a table."""
        self._close(None, np.array([self.context.stream_time]), closed_ms)

    def last_end(self) -> int | None:
        """Return the last end of a session, or None without any."""
        ends = self._store.read(self._store.keys())[1].ends
        return int(ends.max()) if len(ends) else None

    def _aggregate(self, batch: _Batch, closed: int) -> Results | None:
        """Aggregate records, and return the sessions that have ended and are not stored."""
        keys, codes = batch.keys, batch.keys.codes
        handles: list[bytes] = objects_of(keys.stored)
        wakes, stored = self._store.read(handles)
        opened = stored.ends > int(batch.lateness_times[0]) - self._lag
        singly = self._singly(batch, stored.take(opened))
        joined_up = self._joined(batch, singly, stored.take(opened))
        rows = np.flatnonzero(~singly[codes])
        parts: list[tuple[Ints, Results]] = []
        ended: Results | None = None
        if joined_up is not None:
            before, runs, found = joined_up
            passed = stored.take(~opened & ~singly[stored.rows])
            if self._each:
                parts.append(self._updates(rows, runs, before, found, keys))
            elif not isinstance(self.plan.emit, OnClose):
                self.hold(self._changes(before, found, keys))
            ended = self._write(handles, wakes, (passed, found.sessions), keys, closed)
        if len(rows) < len(codes):
            parts.append(self._one_by_one(batch, np.flatnonzero(singly[codes])))
        if self._each:
            self._forward_updates(batch, parts)
        elif len(rows) < len(codes) and not isinstance(self.plan.emit, OnClose):
            self.hold(replace(parts[-1][1], unique=False))
        return ended

    def _joined(
        self, batch: _Batch, singly: npt.NDArray[np.bool_], stored: Sessions
    ) -> tuple[Sessions, SessionRuns, Joined] | None:
        """Join records with the open sessions of before; None without any.

        Args:
            batch: The records.
            singly: Which keys are left out; gets those whose states would come out otherwise.
            stored: The open sessions.

        Returns:
            The keys' sessions of before, runs of their records, and what both make.
        """
        rows = np.flatnonzero(~singly[batch.keys.codes])
        if not len(rows):
            return None
        before, times = stored.take(~singly[stored.rows]), batch.times[rows]
        values = ValueColumn(batch.table.column("value").combine_chunks(), self.source.value)
        lifted = self._form.lift(values.take(rows), times)
        runs = session_runs(self._form, batch.keys.codes[rows], times, lifted, self._gap)
        found = joined_sessions(self._form, before, runs.sessions, self._gap)
        if self._form.exact:
            return before, runs, found
        arrivals = Arrivals(before, runs, found)
        bridged = arrivals.bridged(self._gap)
        if len(bridged):
            singly[bridged] = True
            return self._joined(batch, singly, stored)
        sessions = replace(found.sessions, state=arrivals.states(self._form))
        return before, runs, replace(found, sessions=sessions)

    def _singly(self, batch: _Batch, stored: Sessions) -> npt.NDArray[np.bool_]:
        """Return which keys are to be aggregated record by record."""
        codes, times = batch.keys.codes, batch.times
        found = np.zeros(len(batch.keys), bool)
        grace = self._lag - self._gap - 1
        found[codes[batch.lateness_times - times > grace]] = True
        if self._each:
            order = np.argsort(codes, kind="stable")
            same = codes[order][1:] == codes[order][:-1]
            back = same & (times[order][1:] < times[order][:-1])
            found[codes[order][1:][back]] = True
            first = np.full(len(batch.keys), np.iinfo(np.int64).max)
            np.minimum.at(first, codes, times)
            found[stored.rows[stored.ends > first[stored.rows]]] = True
        return found

    def _write(
        self,
        handles: list[bytes],
        wakes: list[int | None],
        parts: tuple[Sessions, Sessions],
        keys: KeyCodes,
        closed: int,
    ) -> Results:
        """Write the rows of keys; return what has ended, which is not written."""
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
        self._store.write([handles[n] for n in names], [wakes[n] for n in names], remaining)
        return self._results(whole.take(~kept), keys.typed)

    def _results(self, sessions: Sessions, keys: pa.Array) -> Results:
        return Results(
            keys.take(pa.array(sessions.rows)),
            sessions.starts,
            sessions.ends,
            self._form.result(sessions.state),
            sessions.ends,
        )

    def _changes(self, before: Sessions, found: Joined, keys: KeyCodes) -> Results:
        """Return deletions of what was swallowed, then the sessions that were changed."""
        after = found.sessions
        same = (before.starts == after.starts[found.owner]) & (
            before.ends == after.ends[found.owner]
        )
        gone = self._results(before.take(found.changed[found.owner] & ~same), keys.typed).deleted()
        return joined([gone, self._results(after.take(found.changed), keys.typed)])

    def _updates(
        self, rows: Ints, runs: SessionRuns, before: Sessions, found: Joined, keys: KeyCodes
    ) -> tuple[Ints, Results]:
        """Return deletions and results behind each record, and where each stands.

        A key's records come in the order of time here, behind what is stored of it: a run
        continues one session at most.
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
        codes = runs.runs.spread(runs.sessions.rows)
        starts = runs.runs.spread(run_start)
        ends = runs.times
        previous = np.concatenate(([-1], ends[:-1]))
        previous[runs.runs.firsts] = run_end
        results = self._results(Sessions(codes, starts, ends, state), keys.typed)
        old = np.flatnonzero((previous >= 0) & (starts != ends))
        gone = replace(results.take(old), ends=previous[old], times=previous[old]).deleted()
        return np.concatenate((2 * places[old], 2 * places + 1)), joined([gone, results])

    def _base(self, before: Sessions, found: Joined) -> Ints:
        """Return for each run the stored session that it continues, or -1."""
        of_session = np.full(len(found.sessions.rows), -1)
        of_session[found.owner] = np.arange(len(before.rows))
        # Each changed session has one run, in the same order.
        return of_session[np.flatnonzero(found.changed)]

    def _one_by_one(self, batch: _Batch, rows: Ints) -> tuple[Ints, Results]:
        """Let records join sessions in turn; return where each result stands, and results.

        That is twice the place of its record, plus one unless it is a deletion.
        """
        table = batch.table.take(pa.array(rows))
        late, places, results = self._records.aggregate(table, rows, batch.lateness_times[rows])
        if len(late):
            times = batch.times[late]
            self.refuse(batch.table, Assigned(late, times, times, 1), batch.stream)
        gone = results.values.is_null().to_numpy(zero_copy_only=False)
        return 2 * places + ~gone, results

    def _forward_updates(self, batch: _Batch, parts: list[tuple[Ints, Results]]) -> None:
        places = np.concatenate([place for place, _ in parts])
        order = np.argsort(places, kind="stable")
        results = joined([part for _, part in parts]).take(order)
        if not len(results):
            return
        rows = places[order] // 2
        headers = batch.table.column("headers").combine_chunks().take(pa.array(rows))
        self.forward(results.table(headers=headers, stream_times=batch.stream[rows]))

    def _close(self, ended: Results | None, stream: Ints, closed: int) -> None:
        """Remove what has ended from the store; forward it all if results are final."""
        parts = [] if ended is None else [ended]
        due = self._store.due(closed)
        if due:
            wakes, sessions = self._store.read(due)
            over = sessions.ends <= closed
            self._store.wake_later(due, wakes, sessions.take(~over))
            keys = self.source.key.ordered.to_arrow(pa.array(due, pa.binary()))
            parts.append(self._results(sessions.take(over), keys))
        if not (parts and isinstance(self.plan.emit, OnClose)):
            return
        results = joined(parts)
        if not len(results):
            return
        results = results.take(order_by(results.ends, results.starts, results.keys))
        when = np.searchsorted(stream, results.ends + self._lag)
        self.forward(results.table(stream_times=stream[np.minimum(when, len(stream) - 1)]))
