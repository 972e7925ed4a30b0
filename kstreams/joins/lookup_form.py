"""The column form of stream-table joins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from kstreams.joins.table_rows import RowMaker, TableRows, derivation
from kstreams.processors.column_form import Input, Need, NodeForm, Reason
from kstreams.processors.columns import ColumnProcessor, ColumnSource, Execution
from kstreams.state.stores.spec import StoreSpec

__all__ = ("LookupColumns", "lookup_form")

LookupColumns: TypeAlias = Callable[
    [StoreSpec[Any], "ColumnSource | None", "RowMaker | None"], ColumnProcessor
]
"""Takes the table's store, the source of encoded records, and a function that derives rows."""


def lookup_form(rows: TableRows, execution: Execution, make: LookupColumns) -> NodeForm:
    """Return the column form of a stream-table join.

    Args:
        rows: The rows of the table.
        execution: Execution by records or by columns, as requested.
        make: Creates the columnar processor.
    """

    def build(left: Input, right: Input) -> ColumnProcessor | Reason:
        found, source = derivation(rows), left.source
        if found is None:
            return "its table is a join without a store"
        if source is not None and source.key != rows.key:
            return (
                f"keys of the stream have the serde {source.key.name}, but keys of the table "
                f"have {rows.key.name}"
            )
        stored, maker = found
        return make(stored.store, source, maker)

    return NodeForm((Need.RECORDS | Need.COLUMNS, Need.ROWS), build, execution=execution)
