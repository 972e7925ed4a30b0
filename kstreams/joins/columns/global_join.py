"""Join a stream with a global table by columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.joins.joiner import Joiner
from kstreams.processors.columns import ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import each_row
from kstreams.serde.held_objects import HeldObjects
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("GlobalJoinColumns",)


class GlobalJoinColumns(ColumnProcessor):
    """What `GlobalJoin` does, by columns: one read of the table for all rows of a batch.

    Args:
        table: Definition of the table's store.
        joiner: An inner or a left one.
        by: Returns the key of the table's row, of key and value.
        source: What the records come from.
    """

    def __init__(
        self,
        table: StoreSpec[Any],
        joiner: Joiner[Any, Any, Any, Any],
        by: Callable[[Any, Any], Any],
        source: ColumnSource,
    ) -> None:
        self._table = table
        self._joiner = joiner
        self._by = by
        self._source = source

    @property
    def reads_values(self) -> bool:
        """Return True."""
        return True

    def init(self, context: BatchContext) -> None:
        """Get the table ready."""
        super().init(context)
        self._reader = context.reader(self._table)
        self._objects = HeldObjects()

    def process_batch(self, table: pa.Table) -> None:
        """Join a table's rows."""
        table = self.without_nulls(table, "value")
        if not table.num_rows:
            return
        lefts = self._source.objects(table.column("value"))
        raw = table.column("key").combine_chunks()
        keys = self._source.key.to_arrow(raw)
        table = table.set_column(table.column_names.index("key"), "key", keys)
        wanted = each_row(self._by, table, self._keys(raw, keys), lefts)
        rights = self._rows(wanted)
        if self._joiner.how == "inner":
            unnamed = sum(key is None for key in wanted)
            if unnamed:
                self.context.drop("null-foreign-key", unnamed)
            there = np.array([right is not None for right in rights], bool)
            table = table.filter(pa.array(there))
            lefts = [left for left, right in zip(lefts, rights, strict=True) if right is not None]
            rights = [right for right in rights if right is not None]
        if not lefts:
            return
        results = each_row(self._joiner.function, table, lefts, rights)
        place = table.column_names.index("value")
        self.context.forward(table.set_column(place, "value", self._objects.column(results)))

    def advance(self, stream_time_ms: int) -> None:
        """Let go of the batch's objects."""
        self._objects.clear()

    def _keys(self, raw: pa.Array, keys: pa.Array) -> list[Any]:
        """Return the records' keys as objects."""
        key = self._source.key
        return objects_of(keys) if key.arrow_type != pa.binary() else key.deserialize_many(raw)

    def _rows(self, wanted: list[Any]) -> list[Any]:
        """Return the table's values of keys, None for a key of None."""
        if self._table.key.ordered.hashes_by_bytes:
            asked = list(dict.fromkeys(key for key in wanted if key is not None))
            found = dict(zip(asked, self._reader.get_many(asked), strict=True))
            return [None if key is None else found[key] for key in wanted]
        asked = [key for key in wanted if key is not None]
        rows = iter(self._reader.get_many(asked))
        return [None if key is None else next(rows) for key in wanted]
