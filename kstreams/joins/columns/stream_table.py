"""Join a stream with a table by columns."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.joins.joiner import Joiner
from kstreams.processors.columns import PLACE, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import EachRow, each_row, replaced
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_columns import Found

__all__ = ("StreamTableColumns",)

_NULL = -1
_NO_ROW = (None, 0)
_VALUE = itemgetter(0)


class StreamTableColumns(EachRow):
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

    def init(self, context: BatchContext) -> None:
        """Get the store ready."""
        super().init(context)
        self._table = self._spec.kind.table_columns(self._spec, context.store(self._spec))

    def process_batch(self, table: pa.Table) -> None:
        """Join a table's rows."""
        table = self.without_nulls(table, "value")
        if self._joiner.how == "inner":
            table = self.without_nulls(table, "key")
        if not table.num_rows:
            return
        key, keys = self._spec.key, table.column("key").combine_chunks()
        if self._source is None:  # keys of any type, which the table's serde takes or refuses
            keys = key.from_arrow(keys)
        keys = key.to_arrow(keys)
        table = replaced(table, key=keys)
        found = self._found(keys, table)
        numbers, missing = found.numbers, None in found.rows
        if missing and self._joiner.how == "inner":
            there = np.array([row is not None for row in found.rows], bool)[numbers]
            table, numbers = table.filter(pa.array(there)), numbers[there]
        rows = [row or _NO_ROW for row in found.rows] if missing else found.rows
        rights = np.fromiter(map(_VALUE, rows), object, len(rows))[numbers].tolist()
        column = table.column("value")
        lefts = objects_of(column) if self._source is None else self._source.objects(column)
        if not lefts:
            return
        results = each_row(self._joiner.function, table, lefts, rights)
        self.context.forward(self.with_results(table, value=results))

    def _found(self, keys: pa.Array, table: pa.Table) -> Found:
        """Return the table's row of each record; null keys have none."""
        encoded = keys.dictionary_encode()
        codes = encoded.indices.fill_null(_NULL).to_numpy().astype(np.int64)
        places, times = (table.column(name).to_numpy() for name in (PLACE, "timestamp"))
        known = slice(None) if not keys.null_count else np.flatnonzero(codes != _NULL)
        found = self._table.rows_at(encoded.dictionary, codes[known], places[known], times[known])
        if found.unknown:
            self.context.drop("no-history", found.unknown)
        if not keys.null_count:
            return found
        numbers = np.full(len(codes), len(found.rows), np.int64)
        numbers[known] = found.numbers
        return Found([*found.rows, None], numbers)
