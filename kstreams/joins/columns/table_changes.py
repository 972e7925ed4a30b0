"""Put records into a table's store by columns, and forward the changes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.joins.columns.changes import StoredChanges
from kstreams.processors.columns import ColumnSource
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("TableChanges",)


class TableChanges(StoredChanges):
    """The columnar form of `Materialize`: puts all records of a batch, then forwards the changes.

    It is used only if no other node reads the table's store during the batch.

    Args:
        store: The store of the table.
        source: The input of the records; None if the parent is a column processor.
    """

    def __init__(self, store: StoreSpec[Any], source: ColumnSource | None) -> None:
        super().__init__(store)
        self._source = source

    def process_batch(self, table: pa.Table) -> None:
        """Put the records into the store, and forward the changes."""
        table = self.without_nulls(table, "key")
        if not table.num_rows:
            return
        if self._source is None:
            values = objects_of(table.column("value"))
        else:
            values = self._source.objects(table.column("value"))
            table = self._typed(table, self._source)
        self._put(table, values)
