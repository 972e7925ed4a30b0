"""Join two streams by columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.joins.closing import Closing
from kstreams.joins.columns.batch_join import BatchJoin
from kstreams.joins.columns.came import NO_KEY, NO_VALUE, Came
from kstreams.joins.columns.pair_results import results_of
from kstreams.joins.joiner import Joiner
from kstreams.joins.within import Within
from kstreams.processors.columns import ColumnJoinProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import EachRow
from kstreams.record import Record
from kstreams.state.stores.join.columns import JoinColumns
from kstreams.state.stores.join.rows import JoinRows, Setup
from kstreams.state.stores.spec import StoreSpec
from kstreams.times import FAR_MS

__all__ = ("StreamJoinColumns",)


class StreamJoinColumns(EachRow, ColumnJoinProcessor):
    """What `StreamJoin` does, by columns.

    Args:
        within: How near the records are.
        joiner: Of any kind.
        store: What is remembered.
        sources: What the left and the right records come from; their keys have one serde.
    """

    def __init__(
        self,
        within: Within,
        joiner: Joiner[Any, Any, Any, Any],
        store: StoreSpec[Any],
        sources: tuple[ColumnSource, ColumnSource],
    ) -> None:
        self._within = within
        self._joiner = joiner
        self._spec = store
        self._sources = sources

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        rows: JoinRows[Any, Any, Any] = JoinRows.of(context.store(self._spec))
        self._rows, self._columns = rows, JoinColumns(rows)
        self._setup = rows.set_up(Setup.of(*self._within.spans_ms))
        self._keeps = self._joiner.keeps(left=True), self._joiner.keeps(left=False)
        self._alone: list[Record[Any, Any]] = []
        self._closing = Closing(rows, self._setup, self._joiner, self._alone.append)
        self._closed_by = -1
        self._taken: tuple[list[pa.Table], list[pa.Table]] = ([], [])
        if any(self._keeps):
            context.on_end_of_run(self._close_all)
        else:
            rows.drop_open(FAR_MS)  # those of an outer join before

    def take_left(self, table: pa.Table) -> None:
        """Take rows of the left input."""
        self._taken[0].append(table)

    def take_right(self, table: pa.Table) -> None:
        """Take rows of the right input."""
        self._taken[1].append(table)

    def join(self) -> None:
        """Join what was taken, in order of places."""
        if not any(self._taken):
            return
        tables = [pa.concat_tables(parts) for parts in self._taken if parts]
        sides = [side for side, parts in enumerate(self._taken) if parts]
        for parts in self._taken:
            parts.clear()
        if len(tables) == 1:
            tables.insert(1 - sides[0], tables[0].slice(0, 0))
        came = Came(tables, self._sources)
        self._closed_by = int(came.stream[-1])
        self._drop(came)
        batch = BatchJoin(self._rows, self._columns, self._setup, self._keeps, came)
        outcome = batch.run()
        if outcome.late:
            self.context.drop("late", outcome.late)
        results = results_of(came, outcome, self._joiner, self._sources, self.held)
        clocks = self._rows.clocks()
        for side in (0, 1):
            self._closing.forget(side, clocks.newest(side))
        if results is not None:
            self.context.forward(results)

    def _drop(self, came: Came) -> None:
        """Count what has no value, and what has no key and does not go out alone."""
        no_value = int((came.codes == NO_VALUE).sum())
        if no_value:
            self.context.drop("null-value", no_value)
        no_key = came.sides[came.codes == NO_KEY]
        dropped = sum(int((no_key == side).sum()) for side in (0, 1) if not self._keeps[side])
        if dropped:
            self.context.drop("null-key", dropped)

    def advance(self, stream_time_ms: int) -> None:
        """Forward what has closed by then, and let go of the batch's objects."""
        if any(self._keeps) and stream_time_ms > self._closed_by:
            self._closed_by = stream_time_ms
            self._closing_anew().close(stream_time_ms)
            self._forward_alone()
        super().advance(stream_time_ms)

    def _close_all(self) -> None:
        self._closing_anew().close_all()
        self._forward_alone()
        self.held.clear()

    def _closing_anew(self) -> Closing:
        """Return what closes records; it knows nothing of what columns have put."""
        return Closing(self._rows, self._setup, self._joiner, self._alone.append)

    def _forward_alone(self) -> None:
        if self._alone:
            kind = self._sources[0].key.arrow_type
            columns = {
                "key": pa.array([record.key for record in self._alone], kind),
                "value": self.held.column([record.value for record in self._alone]),
                "timestamp": pa.array([record.timestamp for record in self._alone], pa.int64()),
            }
            self._alone.clear()
            self.context.forward(pa.table(columns))
