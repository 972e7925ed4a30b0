"""Aggregate whole columns by sliding windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.aggregators.columns.grouping import grouped
from kstreams.aggregators.columns.keys import KeyCodes
from kstreams.aggregators.columns.ranges import merged_behind, merged_ranges
from kstreams.aggregators.columns.runs import Runs
from kstreams.aggregators.columns.values import ValueColumn
from kstreams.processors.columnar import STREAM_TIME, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.emission import EachUpdate
from kstreams.serde.layout import Columns
from kstreams.serde.objects import objects_of
from kstreams.state.stores.sliding.columns import SliceRows, SlidingColumns
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.columns.base import WindowedColumns
from kstreams.windows.columns.fallback import RecordFallback
from kstreams.windows.columns.results import Results, joined, order_by
from kstreams.windows.columns.sliding_ranges import SlidingRanges, first_slices, sliding_ranges
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.sliding import Slicer

__all__ = ("SlidingWindowColumns",)

Bools = npt.NDArray[np.bool_]

_PAIRS_AT_ONCE = 1 << 19
_LAST = (1 << 63) - 1


@dataclass(frozen=True)
class _Batch:
    """Records that are not late, with keys."""

    table: pa.Table
    keys: KeyCodes
    times: Ints
    stream: Ints
    lateness_times: Ints


@dataclass(frozen=True)
class _Records:
    """Some records of a batch: their places, keys by number, times, and states."""

    places: Ints
    codes: Ints
    times: Ints
    lifted: Columns


@dataclass(frozen=True)
class _Merged:
    """What is stored and some records, sorted by key, time and arrival; slices are runs.

    Attributes:
        places: The records' places, -1 for what was stored.
        state: Of each.
        runs: The slices.
        slices: What they hold.
    """

    places: Ints
    state: Columns
    runs: Runs
    slices: SliceRows


class SlidingWindowColumns(WindowedColumns):
    """The columnar form of `SlidingAggregate`.

    Records join their key's slices, and windows are ranges of them. That gives what it
    gives one by one as long as no record meets a window that has closed, which takes one
    later than the grace. Keys with such a record are aggregated one by one; for updates,
    keys whose records are out of order are too.
    """

    def __init__(self, plan: AggregationPlan, source: ColumnSource, form: ColumnForm) -> None:
        super().__init__(plan, source, reads_values=form.reads_values or source.nulls)
        self._form = form
        self._each = isinstance(plan.emit, EachUpdate)
        self._span: int = plan.windows.difference_ms
        self._lag: int = plan.windows.close_delay_ms

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        store = context.store(self.plan.store)
        self._store: SlidingColumns = store.columns()

        def bind(plan: AggregationPlan, forward: Any, _: Any) -> Any:  # noqa: ANN401  # erased
            return Slicer(plan, store, forward).add

        self._records = RecordFallback(self.plan, self.source, self._form, bind)

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate a table."""
        stream = table.column(STREAM_TIME).to_numpy()
        self.seen = int(stream[-1])
        closed = int(self.lateness_times(stream)[-1]) - self._lag
        batch = self._batch(table)
        self._close([] if batch is None else self._aggregate(batch, closed), stream, closed)

    def close_until(self, closed_ms: int) -> None:
        """Close windows without a table."""
        self._close([], np.array([self.context.stream_time]), closed_ms)

    def last_end(self) -> int | None:
        """Return the last end of a window, or None without any."""
        slices = self._store.read(self._store.keys())[2]
        starts = sliding_ranges(slices, self._span).starts
        return int(starts.max()) + self._span if len(starts) else None

    def _batch(self, table: pa.Table) -> _Batch | None:
        """Return a table without what is dropped."""
        table = self._without_null_values(self.without_null_keys(table))
        times = table.column("timestamp").to_numpy()
        self.drop("no-window", int((times < 0).sum()))
        if len(times) and times.min() < 0:
            table = table.filter(pa.array(times >= 0))
            times = table.column("timestamp").to_numpy()
        table = self._without_late(table, times)
        if not table.num_rows:
            return None
        times = table.column("timestamp").to_numpy()
        keys = KeyCodes(table.column("key").combine_chunks(), self.source.key)
        stream = table.column(STREAM_TIME).to_numpy()
        return _Batch(table, keys, times, stream, self.lateness_times(stream))

    def _without_null_values(self, table: pa.Table) -> pa.Table:
        nulls = table.column("value").null_count if self.source.nulls else 0
        if not nulls:
            return table
        self.context.drop("null-value", nulls)
        return table.filter(pc.is_valid(table.column("value")))

    def _without_late(self, table: pa.Table, times: Ints) -> pa.Table:
        stream = table.column(STREAM_TIME).to_numpy()
        late = times + self._span <= self.lateness_times(stream) - self._lag
        if not late.any():
            return table
        rows = np.flatnonzero(late)
        starts, ends = np.maximum(times - self._span, 0), np.maximum(times, self._span)
        self.refuse(table, Assigned(rows, starts[rows], ends[rows], 1), stream)
        return table.filter(pa.array(~late))

    def _aggregate(self, batch: _Batch, closed: int) -> list[Results]:
        """Aggregate records; return results of windows that have closed by now."""
        handles: list[bytes] = objects_of(batch.keys.stored)
        wakes, dones, stored = self._store.read(handles)
        singly = self._singly(batch, stored)
        one_by_one = np.flatnonzero(singly[batch.keys.codes])
        rows = np.flatnonzero(~singly[batch.keys.codes])
        finals: list[Results] = []
        merged: _Merged | None = None
        if len(rows):
            before = stored.take(~singly[stored.rows])
            merged = self._merged(before, self._lifted(batch, rows))
            if self.plan.emits_on_close:
                finals.append(self._settle(merged.slices, batch.keys.typed, dones, closed))
            elif not self._each:
                self.hold(self._changes(merged, batch.keys.typed))
            self._write_some(handles, wakes, ~singly, merged.slices, closed)
        alone: list[tuple[Ints, Results]] = []
        if len(one_by_one):
            table = batch.table.take(pa.array(one_by_one))
            alone.append(
                self._records.aggregate(table, one_by_one, batch.lateness_times[one_by_one])[1:]
            )
        if self._each:
            self._forward_updates(batch, merged, alone)
        elif self.plan.emits_on_close:
            finals += [results for _, results in alone]
        elif alone:
            self.hold(replace(alone[0][1], unique=False))
        return finals

    def _singly(self, batch: _Batch, stored: SliceRows) -> Bools:
        """Return which keys are to be aggregated record by record."""
        codes, times = batch.keys.codes, batch.times
        found = np.zeros(len(batch.keys), bool)
        found[codes[batch.lateness_times - times >= self._lag]] = True
        if self._each:
            order = np.argsort(codes, kind="stable")
            same = codes[order][1:] == codes[order][:-1]
            back = same & (times[order][1:] < times[order][:-1])
            found[codes[order][1:][back]] = True
            first = np.full(len(batch.keys), _LAST)
            np.minimum.at(first, codes, times)
            found[stored.rows[stored.times > first[stored.rows]]] = True
        return found

    def _lifted(self, batch: _Batch, rows: Ints) -> _Records:
        values = ValueColumn(batch.table.column("value").combine_chunks(), self.source.value)
        times = batch.times[rows]
        lifted = self._form.lift(values.take(rows), times)
        return _Records(rows, batch.keys.codes[rows], times, lifted)

    def _merged(self, stored: SliceRows, records: _Records) -> _Merged:
        codes = np.concatenate((stored.rows, records.codes))
        times = np.concatenate((stored.times, records.times))
        places = np.concatenate((np.full(len(stored.rows), -1), records.places))
        pairs = zip(stored.state, records.lifted, strict=True)
        low = int(times.min())
        groups = grouped(codes, times - low, int(times.max()) - low + 1)
        order, runs = groups.order, groups.runs
        state = tuple(np.concatenate(pair)[order] for pair in pairs)
        first = groups.first
        slices = SliceRows(codes[first], times[first], self._form.reduce(state, runs))
        return _Merged(places[order], state, runs, slices)

    def _changes(self, merged: _Merged, keys: pa.Array) -> Results:
        """Return the windows that hold a record, or that a record has made right behind it."""
        windows = sliding_ranges(merged.slices, self._span)
        touched = merged.runs.highest(merged.places) >= 0
        new = merged.places[merged.runs.firsts] >= 0
        counts = np.concatenate(([0], np.cumsum(touched)))
        holds = counts[windows.highs] > counts[windows.lows]
        made = new[windows.owners] & (windows.starts > merged.slices.times[windows.owners])
        return self._results(merged.slices, windows.take(holds | made), keys)

    def _settle(self, slices: SliceRows, keys: pa.Array, dones: Ints, closed: int) -> Results:
        """Return the windows that have ended by `closed`, and were not done with before."""
        windows = sliding_ranges(slices, self._span)
        ends = windows.starts + self._span
        over = (ends <= closed) & (ends >= dones[slices.rows[windows.owners]])
        return self._results(slices, windows.take(over), keys)

    def _results(self, slices: SliceRows, windows: SlidingRanges, keys: pa.Array) -> Results:
        state = self._merged_slices(slices.state, windows.lows, windows.highs)
        return Results(
            keys.take(pa.array(slices.rows[windows.owners])),
            windows.starts,
            windows.starts + self._span,
            self._form.result(state),
            slices.times[windows.highs - 1],
        )

    def _merged_slices(self, state: Columns, lows: Ints, highs: Ints) -> Columns:
        if self._form.exact:
            return merged_ranges(self._form, state, lows, highs)
        last = tuple(column[highs - 1] for column in state)
        return merged_behind(self._form, state, lows, highs - 1, last)

    def _write_some(
        self,
        handles: list[bytes],
        wakes: list[int | None],
        which: Bools,
        slices: SliceRows,
        closed: int,
    ) -> None:
        """Write the rows of some keys."""
        own = np.flatnonzero(which)
        ranks = np.cumsum(which) - 1
        names = own.tolist()
        rows = replace(slices, rows=ranks[slices.rows])
        self._write([handles[n] for n in names], [wakes[n] for n in names], rows, closed)

    def _write(
        self, handles: list[bytes], wakes: list[int | None], slices: SliceRows, closed: int
    ) -> None:
        """Write rows, without the slices that no open window needs.

        A row may wake too early: so the index is left alone while a key's slices grow.
        """
        new = np.zeros(len(handles), np.int64)
        last = np.flatnonzero(np.diff(slices.rows, append=len(handles)))
        new[slices.rows[last]] = slices.times[last] + self._span + 1
        if self.plan.emits_on_close:
            windows = sliding_ranges(slices, self._span)
            ends, rows = windows.starts + self._span, slices.rows[windows.owners]
            is_open = ends > closed
            np.minimum.at(new, rows[is_open], ends[is_open])
        pairs = zip(wakes, new.tolist(), strict=True)
        wake = [n if old is None or not closed < old <= n else old for old, n in pairs]
        kept = slices.take(slices.times >= closed - self._span)
        self._store.write(handles, wakes, wake, kept, done_ms=closed + 1)

    def _forward_updates(
        self, batch: _Batch, merged: _Merged | None, alone: list[tuple[Ints, Results]]
    ) -> None:
        """Forward the results behind each record, in the order of arrival."""
        headers = batch.table.column("headers").combine_chunks()
        for low, high, found in self._updates(batch, merged):
            parts = [*found]
            for places, results in alone:
                here = np.arange(*np.searchsorted(places, (low, high)))
                parts.append((places[here], results.take(here)))
            rows = np.concatenate([places for places, _ in parts])
            order = np.argsort(rows, kind="stable")
            whole, rows = joined([results for _, results in parts]).take(order), rows[order]
            if len(whole):
                own = headers.take(pa.array(rows))
                self.forward(whole.table(headers=own, stream_times=batch.stream[rows]))

    def _updates(
        self, batch: _Batch, merged: _Merged | None
    ) -> Iterator[tuple[int, int, list[tuple[Ints, Results]]]]:
        """Yield results of records whose places are from one to another, behind the places.

        A key's records come in the order of time here: a record changes the window that
        ends with it, and those that begin right behind each slice in that one.
        """
        count = batch.table.num_rows
        if merged is None:
            yield 0, count, []
            return
        rows = np.flatnonzero(merged.places >= 0)
        rows = rows[np.argsort(merged.places[rows])]
        own = merged.runs.of_row[rows]
        first = first_slices(merged.slices, self._span)
        counts = own - first[own] + 1
        cuts = np.searchsorted(np.cumsum(counts), np.arange(0, counts.sum(), _PAIRS_AT_ONCE))
        ends = [*np.unique(cuts).tolist()[1:], len(rows)]
        partial = None
        if not self._form.exact:
            partial = self._form.scan(merged.state, merged.runs)
        begin = low = 0
        for end in ends:
            high = int(merged.places[rows[end]]) if end < len(rows) else count
            part = slice(begin, end)
            found = self._changed(batch, merged, rows[part], first, counts[part], partial)
            yield low, high, [found]
            begin, low = end, high

    def _changed(
        self,
        batch: _Batch,
        merged: _Merged,
        rows: Ints,
        first: Ints,
        counts: Ints,
        partial: Columns | None,
    ) -> tuple[Ints, Results]:
        """Return the windows that records change, with the records' places.

        Args:
            batch: The batch.
            merged: Its records, behind what is stored.
            rows: Which of them.
            first: The first slice of the window that ends with each slice.
            counts: How many windows each record changes.
            partial: The states of slices up to each record, where the order counts.
        """
        slices, runs = merged.slices, merged.runs
        ramp = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        row = np.repeat(rows, counts)
        own = runs.of_row[row]
        low = first[own] + ramp
        starts = np.where(
            ramp == 0,
            np.maximum(slices.times[own], self._span) - self._span,
            slices.times[low - 1] + 1,
        )
        if partial is None:
            state = merged_ranges(self._form, merged.state, runs.firsts[low], row + 1)
        else:
            last = tuple(column[row] for column in partial)
            state = merged_behind(self._form, slices.state, low, own, last)
        results = Results(
            batch.keys.typed.take(pa.array(slices.rows[own])),
            starts,
            starts + self._span,
            self._form.result(state),
            slices.times[own],
        )
        return merged.places[row], results

    def _close(self, finals: list[Results], stream: Ints, closed: int) -> None:
        """Remove what no open window needs; forward what has closed, if results are final.

        In the order of starts, then of keys.
        """
        due = self._store.due(closed)
        if due:
            wakes, dones, stored = self._store.read(due)
            if self.plan.emits_on_close:
                keys = self.source.key.ordered.to_arrow(pa.array(due, pa.binary()))
                finals.append(self._settle(stored, keys, dones, closed))
            self._write(due, wakes, stored, closed)
        results = joined(finals) if finals else None
        if results is None or not len(results):
            return
        results = results.take(order_by(results.starts, results.keys))
        when = np.searchsorted(stream, results.ends + self._lag)
        self.forward(results.table(stream_times=stream[np.minimum(when, len(stream) - 1)]))
