"""Columnar aggregation by sliding windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Bools
from kstreams.aggregators.columns.form import ColumnForm
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import objects_of
from kstreams.state.stores.sliding.columns import SliceRows, SlidingColumns
from kstreams.state.stores.sliding.rows import SlidingRows
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.columns.batch import Batch
from kstreams.windows.columns.fallback import RecordFallback, late_keys, out_of_order_keys
from kstreams.windows.columns.processor import WindowedColumns
from kstreams.windows.columns.results import Placed, Results, by_place
from kstreams.windows.columns.slices import MergedSlices, SliceWindows, merged_slices
from kstreams.windows.columns.sliding_ranges import sliding_ranges
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.records.sliding import Slicer
from kstreams.windows.rules import by_start, closed_end, last_sliding_end, refusing_window

__all__ = ("SlidingWindowColumns",)


class SlidingWindowColumns(WindowedColumns):
    """The columnar implementation of `SlidingAggregate`.

    Records are added to the slices of their key, and windows are ranges of slices. The results
    equal record-by-record aggregation, except for keys with a record later than the grace, which
    could belong to a closed window. The records of such keys are aggregated one by one; with
    `each_update()`, so are the records of keys with out-of-order records.
    """

    def __init__(self, plan: AggregationPlan, source: ColumnSource, form: ColumnForm) -> None:
        super().__init__(plan, source, reads_values=form.reads_values or source.nulls)
        self._form = form
        self._span: int = plan.windows.difference_ms
        self._windows = SliceWindows(form, self._span)

    def init(self, context: BatchContext) -> None:
        """Open the store."""
        super().init(context)
        store: SlidingRows[Any, Any] = SlidingRows.of(context.store(self.plan.store))
        self._store = SlidingColumns(store)
        self._fallback = RecordFallback(
            self.plan,
            self.source,
            self._form,
            lambda emitter, _: Slicer(self.plan, store, emitter).add,
        )

    def aggregate(self, table: pa.Table, closed_ms: int) -> Sequence[Results]:
        """Aggregate a table; see `WindowedColumns`."""
        table = self.without_nulls(table, "key")
        if self.source.nulls:
            table = self.without_nulls(table, "value")
        batch = self._without_late(self.batch_of(self.without_early(table)))
        ended = self._aggregate(batch, closed_ms) if len(batch) else ()
        return [*ended, *self.take_ended(closed_ms)]

    def take_ended(self, closed_ms: int) -> Sequence[Results]:
        """Delete slices that no open window needs; see `WindowedColumns`."""
        due = self._store.due(closed_ms)
        if not due:
            return ()
        timers, dones, stored = self._store.read(due)
        ended: Sequence[Results] = ()
        if self.plan.emits_on_close:
            ended = (self._windows.ended(stored, self.stored_keys(due), dones, closed_ms),)
        self._write(due, timers, stored, closed_ms)
        return ended

    def finals_order(self, results: Results) -> tuple[Any, ...]:
        """Return the columns of starts and keys; see `WindowedColumns`."""
        return by_start(results.starts, results.keys)

    def last_end(self) -> int | None:
        """Return the last end of a window, ms; None if there is no window."""
        return self._windows.last_end(self._store.read(self._store.keys())[2])

    def _without_late(self, batch: Batch) -> Batch:
        closed = closed_end(batch.lateness_times, self.close_delay)
        late = last_sliding_end(batch.times, self._span) <= closed
        if not late.any():
            return batch
        rows = np.flatnonzero(late)
        starts, ends = refusing_window(batch.times[rows], self._span)
        self.refuse(batch, Assigned(rows, starts, ends, 1))
        return self.batch_of(batch.table.filter(pa.array(~late)))

    def _aggregate(self, batch: Batch, closed: int) -> Sequence[Results]:
        """Aggregate records; return their closed windows with `on_close()`, otherwise nothing."""
        keys, codes = batch.keys, batch.keys.codes
        handles: list[bytes] = objects_of(keys.stored)
        timers, dones, stored = self._store.read(handles)
        fallback = late_keys(batch, self.close_delay - 1)
        if self.each_update:
            fallback |= out_of_order_keys(batch, stored.rows, stored.times)
        rows = np.flatnonzero(~fallback[codes])
        ended: list[Results] = []
        merged: MergedSlices | None = None
        if len(rows):
            with batch.naming(rows):
                lifted = self._form.lift(batch.values().take(rows), batch.times[rows])
            records = SliceRows(codes[rows], batch.times[rows], lifted)
            before = stored.take(~fallback[stored.rows])
            merged = merged_slices(self._form, before, records, rows)
            if self.plan.emits_on_close:
                ended.append(self._windows.ended(merged.slices, keys.typed, dones, closed))
            elif not self.each_update:
                self.hold(self._windows.changed(merged, keys.typed))
            self._write_some(handles, timers, ~fallback, merged.slices, closed)
        by_record: Placed | None = None
        if len(rows) < len(codes):
            by_record = self._fallback.aggregate(batch, np.flatnonzero(fallback[codes]))[1:]
        if self.each_update:
            self._forward_each(batch, merged, by_record)
        elif by_record is not None and self.plan.emits_on_close:
            ended.append(by_record[1])
        elif by_record is not None:
            self.hold(replace(by_record[1], unique=False))
        return ended

    def _forward_each(
        self, batch: Batch, merged: MergedSlices | None, by_record: Placed | None
    ) -> None:
        """Forward the results after each record, in the order of arrival.

        Args:
            batch: The records.
            merged: The slices of keys that are aggregated by columns; None if there are none.
            by_record: The results of all other keys, which were aggregated record by record.
        """
        if merged is None:
            if by_record is not None:
                self.forward_updates(batch, *by_record)
            return
        for low, high, found in self._windows.updates(merged, batch.keys.typed, len(batch)):
            parts = [found]
            if by_record is not None:
                places, results = by_record
                here = np.arange(*np.searchsorted(places, (low, high)))
                parts.append((places[here], results.take(here)))
            self.forward_updates(batch, *by_place(parts))

    def _write_some(
        self,
        handles: list[bytes],
        timers: list[int | None],
        which: Bools,
        slices: SliceRows,
        closed: int,
    ) -> None:
        """Write the slices of the keys for which `which` is true; see `_write`."""
        own = np.flatnonzero(which)
        ranks = np.cumsum(which) - 1
        names = own.tolist()
        rows = replace(slices, rows=ranks[slices.rows])
        self._write([handles[n] for n in names], [timers[n] for n in names], rows, closed)

    def _write(
        self, handles: list[bytes], timers: list[int | None], slices: SliceRows, closed: int
    ) -> None:
        """Write the slices of keys, except slices that no open window needs.

        The stored timer of a key is kept unless it is later than needed, so the timer index is not
        updated while the key gets more slices.

        Args:
            handles: The store key of each key.
            timers: The stored timer of each key (ms); None for a new key.
            slices: The slices of the keys.
            closed: Windows that end at this time (ms) or before are closed.
        """
        new = np.zeros(len(handles), np.int64)
        last = np.flatnonzero(np.diff(slices.rows, append=len(handles)))
        new[slices.rows[last]] = slices.times[last] + self._span + 1
        if self.plan.emits_on_close:
            windows = sliding_ranges(slices, self._span)
            ends, rows = windows.starts + self._span, slices.rows[windows.owners]
            is_open = ends > closed
            np.minimum.at(new, rows[is_open], ends[is_open])
        pairs = zip(timers, new.tolist(), strict=True)
        after = [n if old is None or not closed < old <= n else old for old, n in pairs]
        kept = slices.take(slices.times >= closed - self._span)
        self._store.write(handles, timers, after, kept, done_ms=closed + 1)
