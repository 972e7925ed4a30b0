"""Join each record of a stream with the table row of its key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.columns.stream_table import StreamTableColumns
from kstreams.joins.join_processor import ClosureJoinProcessor, found_in_store
from kstreams.joins.join_terms import Terms
from kstreams.joins.joiner import Joiner
from kstreams.joins.lookup_form import lookup_form
from kstreams.joins.table_rows import RowMaker, TableRows
from kstreams.joins.tables.history import history_reader
from kstreams.processors.column_form import NodeForm
from kstreams.processors.columns import ColumnProcessor, ColumnSource, Execution
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Row

__all__ = ("StreamTableJoin",)

_Process = Callable[[Record[Any, Any]], None]


@dataclass(frozen=True)
class StreamTableJoin:
    """Creates the processors of `join_table`.

    Records with a null value are dropped as `null-value`. For a null key, a left join passes None
    to the joiner as the table's value, and an inner join drops the record as `null-key`.

    Args:
        rows: The rows of the table.
        joiner: An inner or a left joiner.
        versioned: Whether to look up the row version at the record's time, in a versioned table.
        execution: `auto` (by columns if possible), `records` (by records) or `columns`.

    Source: `KStream#join(KTable)`, `KStream#leftJoin(KTable)`, KIP-914, KIP-962.
    """

    rows: TableRows
    joiner: Joiner[Any, Any, Any, Any]
    versioned: bool = False
    execution: Execution = "auto"

    @property
    def column_form(self) -> NodeForm:
        """Return the column form."""
        return lookup_form(self.rows, self.execution, self._columns)

    def _columns(
        self, store: StoreSpec[Any], source: ColumnSource | None, maker: RowMaker | None
    ) -> ColumnProcessor:
        return StreamTableColumns(store, self.joiner, source, maker)

    def __call__(self) -> _StreamTableJoin:
        """Return a new processor."""
        return _StreamTableJoin(self)

    @property
    def join_terms(self) -> Terms:
        """Return the kind of join."""
        return {"how": self.joiner.how}

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the table's stores."""
        return self.rows.stores

    @property
    def keyed_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the table's stores."""
        return self.stores


class _StreamTableJoin(ClosureJoinProcessor[Any, Any, Any, Any, Any]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, join: StreamTableJoin) -> None:
        self._join = join

    def bind(self, context: ProcessorContext[Any, Any]) -> tuple[_Process, _Process]:
        row_of = _row_of(self._join, context)
        function, inner = self._join.joiner.function, self._join.joiner.how == "inner"
        drop, forward = context.drop, context.forward

        def process(record: Record[Any, Any]) -> None:
            if record.value is None:
                drop("null-value")
                return
            if record.key is None:
                if inner:
                    drop("null-key")
                    return
                row = None
            else:
                row = row_of(record)
            if row is not None:
                forward(record.with_value(function(record.value, row[0])))
            elif not inner:
                forward(record.with_value(function(record.value, None)))

        return process, found_in_store


def _row_of(
    join: StreamTableJoin, context: ProcessorContext[Any, Any]
) -> Callable[[Record[Any, Any]], Row | None]:
    if join.versioned:
        as_of = history_reader(join.rows, context)
        return lambda record: as_of(record.key, record.timestamp)
    present = join.rows.open(context)
    return lambda record: present(record.key)
