"""Put records into the store of a table, by columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.processors.columns import PLACE, ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.state.stores.spec import StoreSpec

__all__ = ("MaterializeColumns",)


class MaterializeColumns(ColumnProcessor):
    """`Materialize` for a table that only joins by columns read.

    It forwards nothing: joins find the rows in the store, each as of its place.

    Args:
        store: The store.
        source: The input of the records.
    """

    def __init__(self, store: StoreSpec[Any], source: ColumnSource) -> None:
        self._spec = store
        self._source = source

    @property
    def reads_values(self) -> bool:
        """Return True."""
        return True

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        self._table = self._spec.kind.table_columns(self._spec, context.store(self._spec))

    def process_batch(self, table: pa.Table) -> None:
        """Put a table's rows."""
        table = self.without_nulls(table, "key")
        if not table.num_rows:
            return
        keys = self._source.key.to_arrow(table.column("key").combine_chunks())
        self._settle()
        self._table.put(
            keys,
            self._source.objects(table.column("value")),
            table.column("timestamp").to_pylist(),
            table.column(PLACE).to_numpy(),
        )

    def advance(self, stream_time_ms: int) -> None:
        """Write the rows that joins have read by now."""
        self._settle()

    def _settle(self) -> None:
        refused = self._table.settle()
        if refused:
            self.context.drop("older-than-retention", refused)
