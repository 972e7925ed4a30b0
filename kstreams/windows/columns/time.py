"""Columnar aggregation by windows laid out in time, such as tumbling and calendar windows."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._types import Ints
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.columns.grouping import grouped
from kstreams.columns.keys import KeyCodes
from kstreams.columns.row_failure import RowFailure
from kstreams.processors.columns import STREAM_TIME, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.emission import Every
from kstreams.serde.layout import Columns
from kstreams.state.stores.emit_buffer.columns import Taken
from kstreams.state.stores.emit_buffer.rows import EmitBufferRows
from kstreams.state.stores.window.columns import WindowColumns
from kstreams.windows.columns.assignment import Assigned, Assigner
from kstreams.windows.columns.batch import Batch
from kstreams.windows.columns.emission.every import Changes, IntervalColumns
from kstreams.windows.columns.panes import Panes, merge_in_any_order, panes_of
from kstreams.windows.columns.processor import WindowedColumns
from kstreams.windows.columns.results import Results
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.rules import by_start, closed_end

__all__ = ("TimeColumns",)


_NONE = -(1 << 63)
_PAIRS_AT_ONCE = 1 << 20
"""Maximum number of pairs of a record and a window processed at once; a pair takes 100 bytes."""


@dataclass(frozen=True)
class _Windows:
    """Pairs of window and key in a batch with their states, sorted by start, then by key.

    The first column of `state` is the timestamp.
    """

    codes: Ints
    starts: Ints
    ends: Ints
    state: Columns = ()


class TimeColumns(WindowedColumns):
    """The columnar implementation of `TimeAggregate`.

    Records are grouped by key and window. Windows that may be stored are read with one call, and
    open windows are written with one call. Windows that open and close within a table are never
    stored.
    """

    finals_sorted = True

    def __init__(
        self, plan: AggregationPlan, source: ColumnSource, form: StampedForm, assigner: Assigner
    ) -> None:
        super().__init__(plan, source, reads_values=form.reads_values)
        self._form = form
        self._assigner = assigner
        self._in_panes = merge_in_any_order(form, plan.aggregator.state)
        self._newest = _NONE

    def init(self, context: BatchContext) -> None:
        """Open the stores, and find the newest stored window."""
        super().init(context)
        store = context.store(self.plan.store)
        self._store = WindowColumns.of(store, objects=self._form.of_objects)
        newest = self._store.last_start()
        self._newest = _NONE if newest is None else newest
        self._intervals: IntervalColumns | None = None
        if isinstance(self.plan.emit, Every):
            spec: Any = self.plan.emission_store
            self._intervals = IntervalColumns(
                EmitBufferRows.of(context.store(spec)),
                self.plan.emit.interval_ms,
                context.stream_time,
                self._forward_pending,
            )
            context.on_end_of_run(self._release_all)

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate a table, in slices with a limited number of pairs of record and window."""
        rows = max(1, _PAIRS_AT_ONCE // self._assigner.most)
        for first in range(0, table.num_rows, rows):
            super().process_batch(table.slice(first, rows))

    def aggregate(self, table: pa.Table, closed_ms: int) -> Sequence[Results]:
        """Aggregate a table; see `WindowedColumns`."""
        batch = self.batch_of(self.without_nulls(table, "key"))
        panes = self._panes(batch)
        pairs = self._assigned(batch) if panes is None else panes.pairs
        if not len(pairs.rows):
            if self._intervals is not None:
                self._intervals.take(table.column(STREAM_TIME).to_numpy(), None)
            return self.take_ended(closed_ms)
        keys = batch.keys
        major = (pairs.starts - pairs.starts.min()) // pairs.grid
        codes = keys.codes if panes is None else panes.codes
        groups = grouped(major, codes[pairs.rows], len(keys))
        sorted_rows = pairs.rows[groups.order]
        lifted = self._lifted(batch, sorted_rows) if panes is None else panes.taken(sorted_rows)
        runs = groups.runs
        windows = _Windows(
            codes[sorted_rows[runs.firsts]],
            pairs.starts[groups.first],
            pairs.ends[groups.first],
        )
        stored, before = self._read(windows, keys)
        if self.each_update:
            with batch.naming(sorted_rows):
                updates = self._form.updates(lifted, groups, before, stored)
            self.forward_updates(batch, pairs.rows, self._updated(batch, pairs, updates))
        elif self._intervals is not None:
            updates = self._form.updates(lifted, groups, before, stored)
            changes = self._changes(batch, pairs, updates)
            self._intervals.take(table.column(STREAM_TIME).to_numpy(), changes)
        with batch.naming(sorted_rows):
            state = self._form.reduce_onto(before, stored, lifted, runs)
        windows = replace(windows, state=state)
        self._write(windows, keys, closed_ms)
        if self.once_per_batch:
            self.hold(self._results(windows, keys))
        return self._ended(windows, keys, stored, closed_ms)

    def advance(self, stream_time_ms: int) -> None:
        """Forward the buffered results of ended intervals, and close ended windows."""
        if self._intervals is not None:
            self._intervals.release(stream_time_ms)
        super().advance(stream_time_ms)

    def take_ended(self, closed_ms: int) -> Sequence[Results]:
        """Delete windows that have ended; see `WindowedColumns`."""
        return self._take_ended(closed_ms, frozenset())

    def finals_order(self, results: Results) -> tuple[Any, ...]:
        """Return the columns of starts and keys; see `WindowedColumns`."""
        return by_start(results.starts, results.keys)

    def last_end(self) -> int | None:
        """Return the end of the last window, ms; None if there is no window."""
        newest = self._store.last_start()
        return None if newest is None else int(self.plan.windows.end(newest))

    def _assigned(self, batch: Batch) -> Assigned:
        """Return the pairs of records and open windows; drops records without a window."""
        pairs = self._assigner.assign(batch.times)
        held = np.zeros(len(batch), bool)
        held[pairs.rows] = True
        self.drop("no-window", len(batch) - int(held.sum()))
        late = pairs.ends <= closed_end(batch.lateness_times[pairs.rows], self.close_delay)
        if not late.any():
            return pairs
        self.refuse(batch, _picked(pairs, late))
        return _picked(pairs, ~late)

    def _panes(self, batch: Batch) -> Panes | None:
        """Return the batch's panes; None if each record is needed separately."""
        if self.each_update or self._intervals is not None or not self._in_panes:
            return None
        closed = closed_end(batch.lateness_times, self.close_delay)
        return panes_of(batch, self._assigner, self._form, closed)

    def _lifted(self, batch: Batch, rows: Ints) -> Columns:
        """Return the states of the given records; calls users' functions only for these records."""
        if not self._form.of_objects:
            try:
                lifted = self._form.lift(batch.values(), batch.times)
            except RowFailure:  # perhaps of a record without an open window: see below
                pass
            else:
                return tuple(column[rows] for column in lifted)
        own, places = np.unique(rows, return_inverse=True)
        with batch.naming(own):
            lifted = self._form.lift(batch.values().take(own), batch.times[own])
        return tuple(column[places] for column in lifted)

    def _read(self, windows: _Windows, keys: KeyCodes) -> tuple[Ints, Columns]:
        """Return the indexes of the windows that are stored, and their states.

        Windows that begin after the newest stored window are not looked up.
        """
        count = int(np.searchsorted(windows.starts, self._newest, "right"))
        if not count:
            return np.zeros(0, np.int64), ()
        return self._store.read(self._handles(windows, keys, slice(0, count)))

    def _handles(self, windows: _Windows, keys: KeyCodes, place: slice | Ints) -> list[bytes]:
        own = keys.stored.take(pa.array(windows.codes[place]))
        return self._store.handles(windows.starts[place], own)

    def _write(self, windows: _Windows, keys: KeyCodes, closed: int) -> None:
        """Write the windows that are still open. They follow the closed ones in `windows`."""
        first = int(np.searchsorted(windows.ends, closed, "right"))
        if first == len(windows.ends):
            return
        place = slice(first, None)
        values = tuple(column[place] for column in windows.state)
        self._store.write(self._handles(windows, keys, place), values)
        self._newest = max(self._newest, int(windows.starts[-1]))

    def _results(self, windows: _Windows, keys: KeyCodes, place: slice = slice(None)) -> Results:
        state = tuple(column[place] for column in windows.state)
        return Results(
            keys.typed.take(pa.array(windows.codes[place])),
            windows.starts[place],
            windows.ends[place],
            self._form.result(state),
            state[0],
        )

    def _updated(self, batch: Batch, pairs: Assigned, state: Columns) -> Results:
        """Return the result after each pair of record and window, in the order of arrival."""
        return Results(
            batch.keys.typed.take(pa.array(batch.keys.codes[pairs.rows])),
            pairs.starts,
            pairs.ends,
            self._form.result(state),
            state[0],
        )

    def _ended(
        self, windows: _Windows, keys: KeyCodes, stored: Ints, closed: int
    ) -> Sequence[Results]:
        """Delete ended stored windows; return the results of all ended windows.

        Args:
            windows: The windows of the batch, with their stored states.
            keys: The keys of the windows.
            stored: The indexes of the windows that are stored.
            closed: Windows that end at this time or before have ended.
        """
        if not self.plan.emits_on_close:
            return self.take_ended(closed)
        count = int(np.searchsorted(windows.ends, closed, "right"))
        ended = stored[stored < count]
        known = frozenset(self._handles(windows, keys, ended) if len(ended) else ())
        own = self._results(windows, keys, slice(0, count))
        return [*self._take_ended(closed, known), own]

    def _take_ended(self, closed: int, known: AbstractSet[bytes]) -> Sequence[Results]:
        """Delete ended windows; see `take_ended`.

        Args:
            closed: Windows that end at this time (ms) or before have ended.
            known: The store keys of windows whose results are omitted.
        """
        bound = self._assigner.closed_before(closed)
        if bound is None:
            return ()
        if not self.plan.emits_on_close:
            self._store.drop_before(bound)
            return ()
        handles, values = self._store.take_before(bound)
        if known:
            pairs = [pair for pair in zip(handles, values, strict=True) if pair[0] not in known]
            handles, values = [key for key, _ in pairs], [value for _, value in pairs]
        return (self._stored_results(handles, values),) if handles else ()

    def _stored_results(self, handles: Sequence[bytes], values: Sequence[bytes]) -> Results:
        starts, keys, state = self._store.decoded(list(handles), list(values))
        end = self.plan.windows.end
        each, places = np.unique(starts, return_inverse=True)
        ends = np.array([end(start) for start in each.tolist()], np.int64)[places]
        return Results(keys, starts, ends, self._form.result(state), state[0])

    def _changes(self, batch: Batch, pairs: Assigned, state: Columns) -> Changes:
        codes = batch.keys.codes[pairs.rows]
        now = batch.stream[pairs.rows]
        return Changes(now, pairs.starts, pairs.ends, codes, batch.keys, state)

    def _forward_pending(self, taken: Taken, seen: Ints) -> None:
        """Forward buffered results.

        Args:
            taken: The starts, ends, keys and states of the windows.
            seen: The stream time of each result, ms.
        """
        starts, ends, keys, state = taken
        results = Results(keys, starts, ends, self._form.result(state), state[0])
        self.forward(results.table(stream_times=seen))

    def _release_all(self) -> None:
        if self._intervals is not None:
            self._intervals.release(None, self.context.stream_time)


def _picked(pairs: Assigned, mask: npt.NDArray[np.bool_]) -> Assigned:
    return Assigned(pairs.rows[mask], pairs.starts[mask], pairs.ends[mask], pairs.grid)
