"""The common part of windowed aggregations by columns."""

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
    """A windowed aggregation by columns, without the part of the window kind.

    For each table, `aggregate` drops records without a window, combines the others with the stored
    states, and returns final results, which this class forwards in order.

    Args:
        plan: The aggregation.
        source: The input of the records.
        reads_values: Whether the aggregator uses values.
    """

    finals_sorted: ClassVar[bool] = False
    """Whether each of the parts that final results come in is sorted already."""

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
        """Return whether the aggregator does, or the receiver of late records."""
        return self._reads_values or self.plan.routes is not None

    def init(self, context: BatchContext) -> None:
        """Buffer results that are emitted once per batch."""
        super().init(context)
        self.hold = context.hold(self._release)
        context.on_end_of_run(self._close_early)

    def process_batch(self, table: pa.Table) -> None:
        """Aggregate a table, and close what ends by it."""
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
        """Aggregate a table, and delete the windows that have ended by its end.

        Args:
            table: The records, including those with null keys.
            closed_ms: Windows that end at this time or before are closed after the table.

        Returns:
            The results of the closed windows, if results are final.
        """

    @abstractmethod
    def take_ended(self, closed_ms: int) -> Sequence[Results]:
        """Delete the stored windows that ended at a time or before.

        Returns:
            The results of the windows, if results are final.
        """

    @abstractmethod
    def finals_order(self, results: Results) -> tuple[Any, ...]:
        """Return the columns that final results are sorted by: see `rules`."""

    @abstractmethod
    def last_end(self) -> int | None:
        """Return the last end of an open window, ms, or None without any."""

    def batch_of(self, table: pa.Table) -> Batch:
        """Return the records of a table, each with a key."""
        return Batch(table, self.source, self.context.close_time)

    def without_early(self, table: pa.Table) -> pa.Table:
        """Drop the records before the epoch, which no window holds."""
        early = table.column("timestamp").to_numpy() < 0
        if not early.any():
            return table
        self.drop("no-window", int(early.sum()))
        return table.filter(pa.array(~early))

    def drop(self, reason: str, count: int) -> None:
        """Count so many records as dropped."""
        if count:
            self.context.drop(reason, count)

    def refuse(self, batch: Batch, pairs: Assigned) -> None:
        """Count late pairs of records, and forward them to their child if there is one."""
        self.drop("late", len(pairs.rows))
        routes = self.plan.routes
        if routes is not None:
            self.context.forward_to(routes.late, self._late.table(batch, pairs))

    def stored_keys(self, keys: Sequence[bytes]) -> pa.Array:
        """Convert keys of a store to the form of results."""
        return self.source.key.ordered.to_arrow(pa.array(keys, pa.binary()))

    def forward_updates(self, batch: Batch, rows: Ints, results: Results) -> None:
        """Forward results, each with the headers and as of the stream time of its record."""
        if len(results):
            headers = batch.headers_of(rows)
            self.forward(results.table(headers=headers, stream_times=batch.stream[rows]))

    def forward(self, table: pa.Table) -> None:
        """Forward results to whom they go."""
        routes = self.plan.routes
        if routes is None:
            self.context.forward(table)
        else:
            self.context.forward_to(routes.results, table)

    def _forward_finals(self, parts: Sequence[Results], stream: Ints) -> None:
        """Forward final results in their order, each as of the record that closed its window."""
        found = [part for part in parts if len(part)]
        if not found:
            return
        results = joined(found)
        if len(found) > 1 or not self.finals_sorted:
            results = results.take(order_by(*self.finals_order(results)))
        when = np.searchsorted(stream, close_time(results.ends, self.close_delay))
        self.forward(results.table(stream_times=stream[np.minimum(when, len(stream) - 1)]))

    def _close_until(self, closed_ms: int) -> None:
        """Close windows that ended at a time or before, without a table."""
        self._forward_finals(self.take_ended(closed_ms), np.array([self.context.stream_time]))

    def _close_early(self) -> None:
        end = self.last_end()
        if end is not None and self.plan.ends_with_run(end):
            self._close_until(end)
            self.context.advance_close_time(close_time(end, self.close_delay))

    def _release(self, parts: Sequence[Results]) -> None:
        self.forward(last_results(parts).table())
