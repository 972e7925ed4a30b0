"""Join a stream with a table by columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.joins.joiner import Joiner
from kstreams.processors.columns import PLACE, ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import each_row
from kstreams.serde.held_objects import HeldObjects
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("StreamTableColumns",)


class StreamTableColumns(ColumnProcessor):
    """What `StreamTableJoin` does, by columns.

    Args:
        store: Definition of the table's store.
        joiner: An inner or a left one.
        source: What the stream's records come from; None for another column processor.
    """

    def __init__(
        self, store: StoreSpec[Any], joiner: Joiner[Any, Any, Any, Any], source: ColumnSource | None
    ) -> None:
        self._spec = store
        self._joiner = joiner
        self._source = source

    @property
    def reads_values(self) -> bool:
        """Return True."""
        return True

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        self._table = self._spec.kind.table_columns(self._spec, context.store(self._spec))
        self._objects = HeldObjects()

    def process_batch(self, table: pa.Table) -> None:
        """Join a table's rows."""
        table = self.without_nulls(table, "value")
        if self._joiner.how == "inner":
            table = self.without_nulls(table, "key")
        if not table.num_rows:
            return
        keys = table.column("key").combine_chunks()
        if self._source is not None:
            keys = self._source.key.to_arrow(keys)
            table = table.set_column(table.column_names.index("key"), "key", keys)
        rows, places = self._rows(keys, table)
        if self._joiner.how == "inner":
            there = np.array([row is not None for row in rows], bool)[places]
            if not there.all():
                table, places = table.filter(pa.array(there)), places[there]
        values = [None if row is None else row[0] for row in rows]
        rights = list(map(values.__getitem__, places.tolist()))
        found = table.column("value")
        lefts = objects_of(found) if self._source is None else self._source.objects(found)
        if not lefts:
            return
        results = each_row(self._joiner.function, table, lefts, rights)
        place = table.column_names.index("value")
        self.context.forward(table.set_column(place, "value", self._objects.column(results)))

    def advance(self, stream_time_ms: int) -> None:
        """Let go of the batch's objects."""
        self._objects.clear()

    def _rows(self, keys: pa.Array, table: pa.Table) -> tuple[list[Any], Any]:
        """Return the table's rows, and for each record which of them it is; the last is none."""
        found = keys.dictionary_encode()
        codes = found.indices
        nulls = codes.null_count
        known = np.asarray(codes.is_valid()) if nulls else None
        given = codes.fill_null(0).to_numpy() if nulls else codes.to_numpy()
        given = given.astype(np.int64)
        order = table.column(PLACE).to_numpy()
        distinct = objects_of(found.dictionary)
        if known is None:
            return self._table.rows_at(distinct, given, order)
        rows, places = self._table.rows_at(distinct, given[known], order[known])
        all_places = np.full(len(given), len(rows), np.int64)
        all_places[known] = places
        return [*rows, None], all_places
