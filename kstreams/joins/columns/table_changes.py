"""What puts records into a table's store by columns, and forwards the changes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import ChangedRows, ChangesProcessor
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_columns import PresentColumns

__all__ = ("TableChanges",)


class TableChanges(ChangesProcessor):
    """What `Materialize` does, where nothing reads the store before the batch ends.

    Args:
        store: Definition of the store.
        source: What the records come from.
    """

    def __init__(self, store: StoreSpec[Any], source: ColumnSource) -> None:
        self._spec = store
        self._source = source

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        table = self._spec.kind.table_columns(self._spec, context.store(self._spec))
        self._table = PresentColumns.among(table, self._spec.name)

    def process_batch(self, table: pa.Table) -> None:
        """Put a table's rows."""
        table = self.without_nulls(table, "key")
        if not table.num_rows:
            return
        values = self._source.objects(table.column("value"))
        times: list[int] = objects_of(table.column("timestamp"))
        table, keys = self._typed(table, self._source)
        different = list(dict.fromkeys(keys))
        rows = ChangedRows(different, self._table.read(different))
        changes = list(map(rows.change, keys, values, times))
        self._table.write(different, [rows.present[key] for key in different])
        self._forward(table, changes)
