"""Join a stream with a global table, by a key that is computed from each record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from kstreams.joins.columns.global_join import GlobalJoinColumns
from kstreams.joins.join_terms import Terms
from kstreams.joins.joiner import Joiner
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm, Reason
from kstreams.processors.columns import ColumnProcessor, Execution
from kstreams.processors.context import ProcessorContext
from kstreams.processors.entered import entered
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import VersionedReader

__all__ = ("GlobalJoin",)


@dataclass(frozen=True)
class GlobalJoin:
    """Creates the processors of `join_global`.

    Records with a null value are dropped as `null-value`. If `by` returns None, a left join passes
    None to the joiner as the table's value, and an inner join drops the record as
    `null-foreign-key`.

    Args:
        table: Definition of the table's store.
        joiner: An inner or a left joiner.
        by: Returns the table key for a record's key and value; None for no row.
        execution: `auto` (by columns if possible), `records` (by records) or `columns`.

    Source: `KStream#join(GlobalKTable)`, `KStream#leftJoin(GlobalKTable)`, KIP-962.
    """

    table: StoreSpec[Any]
    joiner: Joiner[Any, Any, Any, Any]
    by: Callable[[Any, Any], Any]
    execution: Execution = "auto"

    @property
    def join_terms(self) -> Terms:
        """Return the kind of join."""
        return {"how": self.joiner.how}

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, which also accepts encoded records."""
        need = Need.COLUMNS | Need.DECODED | Need.RECORDS
        return NodeForm((need,), self._by_columns, execution=self.execution, follower=True)

    def _by_columns(self, rows: Input) -> ColumnProcessor | Reason:
        if self.table.kind.has_history:
            return "its table is versioned"
        source = rows.source if rows.need is Need.RECORDS else None
        return entered(GlobalJoinColumns(self.table, self.joiner, self.by, source), rows)

    def __call__(self) -> _GlobalJoin:
        """Return a new processor."""
        return _GlobalJoin(self)


class _GlobalJoin(ClosureProcessor[Any, Any, Any, Any]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, join: GlobalJoin) -> None:
        self._join = join

    def bind(self, context: ProcessorContext[Any, Any]) -> Callable[[Record[Any, Any]], None]:
        table, by = self._join.table, self._join.by
        function, inner = self._join.joiner.function, self._join.joiner.how == "inner"
        drop, forward = context.drop, context.forward
        reader = cast("VersionedReader[Any, Any]", context.reader(table))
        value_of: Callable[[Any, int], Any] = (
            reader.get_as_of if table.kind.has_history else lambda key, _: reader.get(key)
        )

        def process(record: Record[Any, Any]) -> None:
            value = record.value
            if value is None:
                drop("null-value")
                return
            key = by(record.key, value)
            if key is None:
                if inner:
                    drop("null-foreign-key")
                    return
                found = None
            else:
                found = value_of(key, record.timestamp)
            if found is not None or not inner:
                forward(record.with_value(function(value, found)))

        return process
