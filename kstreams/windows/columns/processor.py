"""The common base of columnar windowed aggregations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.processors.columns import STREAM_TIME, ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.emission import EachUpdate, OncePerBatch
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.columns.batch import Batch
from kstreams.windows.columns.emission.batch_end import last_results
from kstreams.windows.columns.lateness import LateRecords
from kstreams.windows.columns.results import Results, joined, order_by
from kstreams.windows.plan import AggregationPlan
from kstreams.windows.rules import close_time, closed_end, lateness_time

__all__ = ("WindowedColumns",)


class WindowedColumns(ColumnProcessor):
    """Base class of columnar windowed aggregations; subclasses implement the window kinds.

    For each table, `aggregate` drops records without a window, combines other records with the
    stored states, and returns final results, which this class forwards in order.

    Args:
        plan: The aggregation.
        source: The source of the records.
        reads_values: Whether the aggregator uses values.
    """

    finals_sorted: ClassVar[bool] = False
    """Whether each part of the final results that a subclass returns is sorted."""

    def __init__(self, plan: AggregationPlan, source: ColumnSource, *, reads_values: bool) -> None:
        self.plan = plan
        self.source = source
        self.close_delay: int = plan.windows.close_delay_ms
        self.each_update = isinstance(plan.emit, EachUpdate)
        self.once_per_batch = isinstance(plan.emit, OncePerBatch)
        self._late = LateRecords(self.close_delay)
        self._reads_values = reads_values
        self._closed_by = -1  # the stream time by which windows were closed last, ms

    @property
    def reads_values(self) -> bool:
        """Return whether the aggregator, or an output for late records, needs the values."""
        return self._reads_values or self.plan.routes is not None

    def init(self, context: BatchContext) -> None:
        """Register the release of buffered results, and the closing of windows at a run's end."""
        super().init(context)
        self.hold = context.hold(self._release)
        context.on_end_of_run(self._close_early)

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate a table, and close the windows that end by its stream time."""
        stream = table.column(STREAM_TIME).to_numpy()
        self._closed_by = int(stream[-1])
        now = lateness_time(self._closed_by, self.context.close_time)
        closed = closed_end(now, self.close_delay)
        self._forward_finals(self.aggregate(table, closed), stream)

    def advance(self, stream_time_ms: int) -> None:
        """Close the windows that have ended by the stream time."""
        if stream_time_ms > self._closed_by:
            self._closed_by = stream_time_ms
            self._close_until(closed_end(stream_time_ms, self.close_delay))

    @abstractmethod
    def aggregate(self, table: pa.Table, closed_ms: int) -> Sequence[Results]:
        """Aggregate a table, and delete the windows that have closed after it.

        Args:
            table: The records, including those with null keys.
            closed_ms: Windows that end at this time or before are closed after the table.

        Returns:
            The results of the closed windows if the emission is `on_close()`; otherwise nothing.
        """

    @abstractmethod
    def take_ended(self, closed_ms: int) -> Sequence[Results]:
        """Delete the stored windows that end at `closed_ms` or before.

        Returns:
            The results of these windows if the emission is `on_close()`; otherwise nothing.
        """

    @abstractmethod
    def finals_order(self, results: Results) -> tuple[Any, ...]:
        """Return the columns by which final results are sorted; see `kstreams.windows.rules`."""

    @abstractmethod
    def last_end(self) -> int | None:
        """Return the last end of an open window, ms; None if no window is open."""

    def batch_of(self, table: pa.Table) -> Batch:
        """Return the `Batch` of a table's records, all of which must have a key."""
        return Batch(table, self.source, self.context.close_time)

    def without_early(self, table: pa.Table) -> pa.Table:
        """Drop the records with a time before the epoch, for which there is no window."""
        early = table.column("timestamp").to_numpy() < 0
        if not early.any():
            return table
        self.drop("no-window", int(early.sum()))
        return table.filter(pa.array(~early))

    def drop(self, reason: str, count: int) -> None:
        """Count `count` records as dropped, if any."""
        if count:
            self.context.drop(reason, count)

    def refuse(self, batch: Batch, pairs: Assigned) -> None:
        """Count late pairs of records and windows, and forward them to the late output, if any."""
        self.drop("late", len(pairs.rows))
        routes = self.plan.routes
        if routes is not None:
            self.context.forward_to(routes.late, self._late.table(batch, pairs))

    def stored_keys(self, keys: Sequence[bytes]) -> pa.Array:
        """Convert encoded keys of a store to the Arrow type of results."""
        return self.source.key.ordered.to_arrow(pa.array(keys, pa.binary()))

    def forward_updates(self, batch: Batch, rows: Ints, results: Results) -> None:
        """Forward results with the headers and the stream time of their records.

        Args:
            batch: The records.
            rows: The row number of each result's record.
            results: The results.
        """
        if len(results):
            headers = batch.headers_of(rows)
            self.forward(results.table(headers=headers, stream_times=batch.stream[rows]))

    def forward(self, table: pa.Table) -> None:
        """Forward results to the output for results, or to all children."""
        routes = self.plan.routes
        if routes is None:
            self.context.forward(table)
        else:
            self.context.forward_to(routes.results, table)

    def _forward_finals(self, parts: Sequence[Results], stream: Ints) -> None:
        """Forward final results in order, each with the stream time that closed its window."""
        found = [part for part in parts if len(part)]
        if not found:
            return
        results = joined(found)
        if len(found) > 1 or not self.finals_sorted:
            results = results.take(order_by(*self.finals_order(results)))
        when = np.searchsorted(stream, close_time(results.ends, self.close_delay))
        self.forward(results.table(stream_times=stream[np.minimum(when, len(stream) - 1)]))

    def _close_until(self, closed_ms: int) -> None:
        """Close stored windows that end at a time (ms) or before, when stream time advances."""
        self._forward_finals(self.take_ended(closed_ms), np.array([self.context.stream_time]))

    def _close_early(self) -> None:
        end = self.last_end()
        if end is not None and self.plan.ends_with_run(end):
            self._close_until(end)
            self.context.advance_close_time(close_time(end, self.close_delay))

    def _release(self, parts: Sequence[Results]) -> None:
        self.forward(last_results(parts).table())
