"""Columnar join of two tables: the changes of both, in the order of their positions."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.joins.change import Change
from kstreams.joins.columns.both_values import called_for_both, there
from kstreams.joins.columns.changes import parted, put_rows
from kstreams.joins.columns.table_matching import TableMeeting, TableSide
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import TableRows
from kstreams.processors.columns import ColumnJoinProcessor
from kstreams.processors.context import BatchContext
from kstreams.serde.object_columns import ObjectColumns
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_columns import PresentColumns

__all__ = ("TableJoinColumns",)


class TableJoinColumns(ColumnJoinProcessor):
    """The columnar form of `TableJoin`, used if no record reaches both inputs.

    Both stores already contain the batch's new rows; the old rows are read from the changes.

    Args:
        left: The reader of the left table.
        right: The reader of the right table.
        joiner: A joiner of any kind.
        store: The store of results; None for none.
    """

    def __init__(
        self,
        left: TableRows,
        right: TableRows,
        joiner: Joiner[Any, Any, Any, Any],
        store: StoreSpec[Any] | None,
    ) -> None:
        self._tables = left, right
        self._joiner = joiner
        self._spec = store

    @property
    def reads_values(self) -> bool:
        """Return True: the processor reads the values of its input."""
        return True

    def init(self, context: BatchContext) -> None:
        """Open both tables and the store of results."""
        super().init(context)
        self._held = ObjectColumns()
        self._read = [table.open_many(context) for table in self._tables]
        self._results: PresentColumns | None = None
        if self._spec is not None:
            columns = self._spec.kind.table_columns(self._spec, context.store(self._spec))
            self._results = PresentColumns.among(columns, self._spec.name)
        self._begin()

    def _begin(self) -> None:
        keeps = self._joiner.keeps
        self._left = TableSide(self._read[0], keeps(left=True))
        self._right = TableSide(self._read[1], keeps(left=False))

    def take_left(self, table: pa.Table) -> None:
        """Buffer changes of the left table."""
        self._left.take(table)

    def take_right(self, table: pa.Table) -> None:
        """Buffer changes of the right table."""
        self._right.take(table)

    def advance(self, stream_time_ms: int) -> None:
        """Release the batch's keys that have no Arrow type."""
        self._held.clear()

    def join(self) -> None:
        """Join the buffered changes, and forward the resulting changes."""
        meeting = TableMeeting.of(self._left, self._right, self._held)
        self._begin()
        meeting = meeting.taken(meeting.with_results())
        if not len(meeting.times):
            return
        table = meeting.table()
        lefts, rights = meeting.values()
        wanted = self._joiner.makes_rows(there(lefts), there(rights))
        news, olds = called_for_both(self._joiner.function, table, wanted, lefts, rights)
        if self._results is not None:
            rows = put_rows(self._results, meeting.keys, news, meeting.times.tolist())
            olds, _ = parted(rows)
        values = self._held.lazy_column(Change, news, olds)
        self.context.forward(table.append_column("value", values))
