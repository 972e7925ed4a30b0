"""What puts records into a table's store by columns, and forwards the changes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import StoredChanges
from kstreams.processors.columns import ColumnSource
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("TableChanges",)


class TableChanges(StoredChanges):
    """What `Materialize` does, where nothing reads the store before all of its rows are put.

    Args:
        store: Definition of the store.
        source: What the records come from; None for another column processor.
    """

    def __init__(self, store: StoreSpec[Any], source: ColumnSource | None) -> None:
        super().__init__(store)
        self._source = source

    def process_batch(self, table: pa.Table) -> None:
        """Put a table's rows."""
        table = self.without_nulls(table, "key")
        if not table.num_rows:
            return
        if self._source is None:
            values = objects_of(table.column("value"))
        else:
            values = self._source.objects(table.column("value"))
            table = self._typed(table, self._source)
        self._put(table, values)
