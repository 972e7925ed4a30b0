"""Put records into a table's store by columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.processors.columns import PLACE, ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.state.stores.spec import StoreSpec

__all__ = ("MaterializeColumns",)


class MaterializeColumns(ColumnProcessor):
    """The columnar form of `Materialize` for a table that is read only by columnar joins.

    It forwards nothing: joins look up rows in the store, as of the position of each record in the
    batch.

    Args:
        store: The store of the table.
        source: The input of the records.
    """

    def __init__(self, store: StoreSpec[Any], source: ColumnSource) -> None:
        self._spec = store
        self._source = source

    @property
    def reads_values(self) -> bool:
        """Return True: the processor reads the values of its input."""
        return True

    def init(self, context: BatchContext) -> None:
        """Open the store."""
        super().init(context)
        self._table = self._spec.kind.table_columns(self._spec, context.store(self._spec))

    def process_batch(self, table: pa.Table) -> None:
        """Put the records into the store."""
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
        """Write the buffered puts of the batch to the store, after the joins have read them."""
        self._settle()

    def _settle(self) -> None:
        refused = self._table.settle()
        if refused:
            self.context.drop("older-than-retention", refused)
