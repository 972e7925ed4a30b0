"""Aggregate whole columns by windows laid out in time: tumbling, hopping, calendar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams._types import Ints
from kstreams.aggregators.columns.grouping import grouped
from kstreams.aggregators.columns.keys import KeyCodes
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.aggregators.columns.values import ValueColumn
from kstreams.processors.columnar import STREAM_TIME, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.emission import EachUpdate, Every, OncePerBatch, OnClose
from kstreams.serde.layout import Columns
from kstreams.state.stores.emit_buffer.columns import Taken
from kstreams.state.stores.window.columns import WindowColumns
from kstreams.windows.columns.assignment import Assigned, Assigner
from kstreams.windows.columns.base import WindowedColumns
from kstreams.windows.columns.emission.every import Changes, IntervalColumns
from kstreams.windows.columns.results import Results, joined
from kstreams.windows.plan import AggregationPlan

__all__ = ("TimeColumns",)


_NONE = -(1 << 63)
_PAIRS_AT_ONCE = 1 << 20
"""Pairs of a record and a window that are worked on together: they take 100 bytes each."""


@dataclass(frozen=True)
class _Batch:
    """Records with keys, and the pairs of them and open windows.

    `lifted` is the aggregator's state of each record.
    """

    keys: KeyCodes
    stream: Ints
    headers: pa.Array
    lifted: Columns
    pairs: Assigned


@dataclass(frozen=True)
class _Windows:
    """Keys' windows, sorted by start, then by key, with what the batch made of them.

    `state` begins with the timestamp.
    """

    codes: Ints
    starts: Ints
    ends: Ints
    state: Columns


class TimeColumns(WindowedColumns):
    """The columnar form of `TimeAggregate`.

    A table's pairs of key and window are grouped, those that may be stored are read at
    once, and what is still open is written at once. Windows that open and close within a
    table never reach the store.
    """

    def __init__(
        self, plan: AggregationPlan, source: ColumnSource, form: StampedForm, assigner: Assigner
    ) -> None:
        super().__init__(plan, source, reads_values=form.reads_values)
        self._form = form
        self._assigner = assigner
        self._newest = _NONE

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        self._store: WindowColumns = context.store(self.plan.store).columns()
        newest = self._store.newest()
        self._newest = _NONE if newest is None else newest
        self._intervals: IntervalColumns | None = None
        if isinstance(self.plan.emit, Every):
            spec: Any = self.plan.emission_store
            self._intervals = IntervalColumns(
                context.store(spec),
                self.plan.emit.interval_ms,
                context.stream_time,
                self._forward_pending,
            )
            context.on_end_of_run(self._release_all)

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate a table, in parts where each record is in many windows."""
        rows = max(1, _PAIRS_AT_ONCE // self._assigner.most)
        for first in range(0, table.num_rows, rows):
            self._process(table.slice(first, rows))

    def _process(self, table: pa.Table) -> None:
        stream = table.column(STREAM_TIME).to_numpy()
        self.seen = int(stream[-1])
        closed = int(self.lateness_times(stream)[-1]) - self.plan.windows.close_delay_ms
        batch = self._batch(table)
        if batch is None:
            if self._intervals is not None:
                self._intervals.take(stream, None)
            self._close(None, None, stream, closed)
            return
        pairs, keys = batch.pairs, batch.keys
        major = (pairs.starts - pairs.starts.min()) // pairs.grid
        groups = grouped(major, keys.codes[pairs.rows], len(keys))
        sorted_rows = pairs.rows[groups.order]
        lifted = tuple(column[sorted_rows] for column in batch.lifted)
        runs = groups.runs
        windows = _Windows(
            keys.codes[sorted_rows[runs.firsts]],
            pairs.starts[groups.first],
            pairs.ends[groups.first],
            (),
        )
        stored, before = self._read(windows, keys)
        if isinstance(self.plan.emit, (EachUpdate, Every)):
            updates = self._form.updates(lifted, groups, before, stored)
            if self._intervals is None:
                self._forward_updates(batch, updates)
            else:
                self._intervals.take(stream, self._changes(batch, updates))
        state = self._form.reduce_onto(before, stored, lifted, runs)
        windows = replace(windows, state=state)
        self._write(windows, keys, closed)
        if isinstance(self.plan.emit, OncePerBatch):
            self.hold(self._results(windows, keys))
        self._close(windows, keys, stream, closed, touched=stored)

    def advance(self, stream_time_ms: int) -> None:
        """Forward what waited for an interval that is over, and close what has ended."""
        if self._intervals is not None:
            self._intervals.release(stream_time_ms)
        super().advance(stream_time_ms)

    def close_until(self, closed_ms: int) -> None:
        """Close windows without a table."""
        self._close(None, None, np.array([self.context.stream_time]), closed_ms)

    def last_end(self) -> int | None:
        """Return the end of the last window, or None without any."""
        newest = self._store.newest()
        return None if newest is None else int(self.plan.windows.end(newest))

    def _batch(self, table: pa.Table) -> _Batch | None:
        """Return what is left of a table without null keys and refused pairs."""
        table = self.without_null_keys(table)
        times = table.column("timestamp").to_numpy()
        stream = table.column(STREAM_TIME).to_numpy()
        pairs = self._assigner.assign(times)
        held = np.zeros(len(times), bool)
        held[pairs.rows] = True
        self.drop("no-window", len(times) - int(held.sum()))
        late = (
            pairs.ends <= self.lateness_times(stream)[pairs.rows] - self.plan.windows.close_delay_ms
        )
        if late.any():
            self.refuse(table, _picked(pairs, late), stream)
            pairs = _picked(pairs, ~late)
        if not len(pairs.rows):
            return None
        headers = table.column("headers").combine_chunks()
        values = ValueColumn(table.column("value").combine_chunks(), self.source.value)
        keys = KeyCodes(table.column("key").combine_chunks(), self.source.key)
        lifted = self._form.lift(values, times)
        return _Batch(keys, stream, headers, lifted, pairs)

    def _read(self, windows: _Windows, keys: KeyCodes) -> tuple[Ints, Columns]:
        """Return which windows are stored, and as what; none newer than the newest is."""
        count = int(np.searchsorted(windows.starts, self._newest, "right"))
        if not count:
            return np.zeros(0, np.int64), ()
        return self._store.read(self._handles(windows, keys, slice(0, count)))

    def _handles(self, windows: _Windows, keys: KeyCodes, place: slice) -> list[bytes]:
        own = keys.stored.take(pa.array(windows.codes[place]))
        return self._store.handles(windows.starts[place], own)

    def _write(self, windows: _Windows, keys: KeyCodes, closed: int) -> None:
        """Write the windows that are open still: the last ones."""
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

    def _forward_updates(self, batch: _Batch, state: Columns) -> None:
        """Forward the result behind each pair, in the order of arrival."""
        pairs = batch.pairs
        results = Results(
            batch.keys.typed.take(pa.array(batch.keys.codes[pairs.rows])),
            pairs.starts,
            pairs.ends,
            self._form.result(state),
            state[0],
        )
        headers = batch.headers
        if headers.null_count < len(headers):
            headers = headers.take(pa.array(pairs.rows))
        else:
            headers = pa.nulls(len(pairs.rows), headers.type)
        self.forward(results.table(headers=headers, stream_times=batch.stream[pairs.rows]))

    def _close(
        self,
        windows: _Windows | None,
        keys: KeyCodes | None,
        stream: Ints,
        closed: int,
        *,
        touched: Ints | None = None,
    ) -> None:
        """Delete what has ended by `closed`, after forwarding it if results are final."""
        bound = self._assigner.closed_before(closed)
        if bound is None:
            return
        if not isinstance(self.plan.emit, OnClose):
            self._store.drop_before(bound)
            return
        handles, values = self._store.take_before(bound)
        parts = []
        count = 0
        if windows is not None and keys is not None:
            count = int(np.searchsorted(windows.ends, closed, "right"))
            parts.append(self._results(windows, keys, slice(0, count)))
            if touched is not None and len(touched) and handles:
                places = touched[touched < count]
                own = self._handles(windows, keys, slice(0, count))
                known = {own[place] for place in places.tolist()}
                pairs = [pair for pair in zip(handles, values, strict=True) if pair[0] not in known]
                handles, values = [key for key, _ in pairs], [value for _, value in pairs]
        if handles:
            parts.insert(0, self._stored_results(handles, values))
        results = joined(parts) if parts else None
        if results is None or not len(results):
            return
        if handles and count:
            own = self._handles(windows, keys, slice(0, count))  # type: ignore[arg-type]
            results = results.take(_order([*handles, *own]))
        when = np.searchsorted(stream, results.ends + self.plan.windows.close_delay_ms)
        self.forward(results.table(stream_times=stream[np.minimum(when, len(stream) - 1)]))

    def _changes(self, batch: _Batch, state: Columns) -> Changes:
        pairs = batch.pairs
        codes = batch.keys.codes[pairs.rows]
        now = batch.stream[pairs.rows]
        return Changes(now, pairs.starts, pairs.ends, codes, batch.keys, state)

    def _forward_pending(self, taken: Taken, seen: Ints) -> None:
        """Forward what has waited, as of stream times."""
        starts, ends, keys, state = taken
        results = Results(keys, starts, ends, self._form.result(state), state[0])
        self.forward(results.table(stream_times=seen))

    def _release_all(self) -> None:
        if self._intervals is not None:
            self._intervals.release(None, self.context.stream_time)

    def _stored_results(self, handles: Sequence[bytes], values: Sequence[bytes]) -> Results:
        starts, keys, state = self._store.decoded(list(handles), list(values))
        end = self.plan.windows.end
        each, places = np.unique(starts, return_inverse=True)
        ends = np.array([end(start) for start in each.tolist()], np.int64)[places]
        return Results(keys, starts, ends, self._form.result(state), state[0])


def _picked(pairs: Assigned, mask: npt.NDArray[np.bool_]) -> Assigned:
    return Assigned(pairs.rows[mask], pairs.starts[mask], pairs.ends[mask], pairs.grid)


def _order(handles: list[bytes]) -> npt.NDArray[Any]:
    return np.array(sorted(range(len(handles)), key=handles.__getitem__), np.int64)
