"""Join a stream with a table: each record with the row of its key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.columns.stream_table import StreamTableColumns
from kstreams.joins.join_processor import ClosureJoinProcessor, found_in_store
from kstreams.joins.join_terms import Terms
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import TableRows, derivation
from kstreams.joins.tables.history import history_reader
from kstreams.processors.column_form import Input, Need, NodeForm, Reason
from kstreams.processors.columns import ColumnProcessor, Execution
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Row

__all__ = ("StreamTableJoin",)

_Process = Callable[[Record[Any, Any]], None]


@dataclass(frozen=True)
class StreamTableJoin:
    """Makes the processors of `join_table`.

    Null values are dropped, as `null-value`. A null key has no row: a left join gives None
    for it, an inner join drops it as `null-key`.

    Args:
        rows: The rows of the table; of a versioned table, its history.
        joiner: An inner or a left joiner.
        versioned: Whether rows are those of the record's time.
        execution: By columns where possible, never, or always.

    Source: `KStream#join(KTable)`, `KStream#leftJoin(KTable)`, KIP-914, KIP-962.
    """

    rows: TableRows
    joiner: Joiner[Any, Any, Any, Any]
    versioned: bool = False
    execution: Execution = "auto"

    @property
    def column_form(self) -> NodeForm:
        """Return the form of a join that looks up rows of its table."""
        needs = Need.RECORDS | Need.COLUMNS, Need.ROWS
        return NodeForm(needs, self._by_columns, execution=self.execution)

    def _by_columns(self, left: Input, right: Input) -> ColumnProcessor | Reason:
        source = left.source
        found = derivation(self.rows)
        if found is None:
            return "its table is a join without a store"
        stored, maker = found
        if source is not None and source.key != self.rows.key:
            return f"keys come as {source.key.name}, and the table's are {self.rows.key.name}"
        return StreamTableColumns(stored.store, self.joiner, source, maker)

    def __call__(self) -> _StreamTableJoin:
        """Return a new processor."""
        return _StreamTableJoin(self)

    @property
    def join_terms(self) -> Terms:
        """Return which rows without a partner give a result."""
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
