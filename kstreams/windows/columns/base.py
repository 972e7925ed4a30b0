"""What the columnar forms of windowed aggregations share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.processors.columnar import STREAM_TIME, ColumnarProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.windowed import NEVER_ENDS
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.columns.late import LateType
from kstreams.windows.columns.results import Results, last_results
from kstreams.windows.plan import AggregationPlan

__all__ = ("WindowedColumns",)


class WindowedColumns(ColumnarProcessor):
    """Drops, late records and results of a windowed aggregation of whole columns.

    Args:
        plan: The aggregation.
        source: What the records come from.
        reads_values: Whether the aggregator looks at values.
    """

    def __init__(self, plan: AggregationPlan, source: ColumnSource, *, reads_values: bool) -> None:
        self.plan = plan
        self.source = source
        self._reads_values = reads_values
        self.seen = -1  # the stream time by which windows were closed last, ms

    @property
    def reads_values(self) -> bool:
        """Return whether the aggregator does, or the receiver of late records."""
        return self._reads_values or self.plan.routes is not None

    def init(self, context: BatchContext) -> None:
        """Hold back what is forwarded once a batch."""
        super().init(context)
        self.hold = context.hold(self._release)
        context.on_end_of_run(self._close_early)

    def lateness_times(self, stream: Ints) -> Ints:
        """Return the stream times that lateness is judged by: see `ClosedEarly`."""
        return np.maximum(stream, self.context.close_time)

    def advance(self, stream_time_ms: int) -> None:
        """Close what has ended by then."""
        if stream_time_ms > self.seen:
            self.seen = stream_time_ms
            self.close_until(stream_time_ms - self.plan.windows.close_delay_ms)

    @abstractmethod
    def close_until(self, closed_ms: int) -> None:
        """Close windows that ended at a time or before, without a table."""

    @abstractmethod
    def last_end(self) -> int | None:
        """Return the last end of an open window, ms, or None without any."""

    def _close_early(self) -> None:
        end = self.last_end()
        if end is not None and end < NEVER_ENDS:
            self.close_until(end)
            self.context.advance_close_time(end + self.plan.windows.close_delay_ms)

    def without_null_keys(self, table: pa.Table) -> pa.Table:
        """Drop null keys."""
        nulls = table.column("key").null_count
        if not nulls:
            return table
        self.context.drop("null-key", nulls)
        return table.filter(pc.is_valid(table.column("key")))

    def drop(self, reason: str, count: int) -> None:
        """Count so many records as dropped."""
        if count:
            self.context.drop(reason, count)

    def refuse(self, table: pa.Table, pairs: Assigned, stream: Ints) -> None:
        """Count late pairs, and forward them if somebody takes them."""
        self.drop("late", len(pairs.rows))
        routes, lag = self.plan.routes, self.plan.windows.close_delay_ms
        if routes is None:
            return
        rows = table.take(pa.array(pairs.rows))
        values = rows.column("value").combine_chunks()
        now = self.lateness_times(stream[pairs.rows])
        numbers = (pairs.starts, pairs.ends, now, now - pairs.ends - lag)
        kind = LateType(values.type, self.source.value)
        columns = {
            "key": self.source.key.to_arrow(rows.column("key").combine_chunks()),
            "value": kind.of(values, *map(pa.array, numbers)),
            "timestamp": rows.column("timestamp"),
            "headers": rows.column("headers"),
            STREAM_TIME: pa.array(stream[pairs.rows]),
        }
        self.context.forward_to(routes.late, pa.table(columns))

    def _release(self, parts: Sequence[Results]) -> None:
        self.forward(last_results(parts).table())

    def forward(self, table: pa.Table) -> None:
        """Forward results to whom they go."""
        routes = self.plan.routes
        if routes is None:
            self.context.forward(table)
        else:
            self.context.forward_to(routes.results, table)
