"""Join a stream with a global table by columns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from typing import Any

import pyarrow as pa

from kstreams.joins.joiner import Joiner
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import EachRow, each_row, replaced
from kstreams.serde.carried import carried, carried_objects, stays_bytes
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec

__all__ = ("GlobalJoinColumns",)


class GlobalJoinColumns(EachRow):
    """The columnar form of `GlobalJoin`: reads the table once for all rows of a batch.

    Args:
        table: The store of the table.
        joiner: An inner or a left joiner.
        by: Returns the key of the global table's row for a record's key and value; None for no row.
        source: The input of the records; None if the parent is a column processor.
    """

    def __init__(
        self,
        table: StoreSpec[Any],
        joiner: Joiner[Any, Any, Any, Any],
        by: Callable[[Any, Any], Any],
        source: ColumnSource | None,
    ) -> None:
        self._table = table
        self._joiner = joiner
        self._by = by
        self._source = source

    def init(self, context: BatchContext) -> None:
        """Open the table."""
        super().init(context)
        self._reader = context.reader(self._table)

    def process_batch(self, table: pa.Table) -> None:
        """Join the rows of the stream."""
        table = self.without_nulls(table, "value")
        if not table.num_rows:
            return
        table, keys, lefts = self._opened(table)
        wanted = each_row(self._by, table, keys, lefts)
        rights = self._rows(wanted)
        if self._joiner.how == "inner":
            unnamed = wanted.count(None)
            if unnamed:
                self.context.drop("null-foreign-key", unnamed)
            if None in rights:
                there = [right is not None for right in rights]
                table = table.filter(pa.array(there))
                lefts, rights = list(compress(lefts, there)), list(compress(rights, there))
        if not lefts:
            return
        results = each_row(self._joiner.function, table, lefts, rights)
        self.context.forward(self.with_results(table, value=results))

    def _opened(self, table: pa.Table) -> tuple[pa.Table, list[Any], list[Any]]:
        """Return the rows with keys of their Arrow type, the key objects, and the value objects."""
        source = self._source
        if source is None:
            return table, objects_of(table.column("key")), objects_of(table.column("value"))
        lefts = source.objects(table.column("value"))
        typed = carried(source.key, table.column("key").combine_chunks())
        keys = carried_objects(source.key, typed)
        typed = self.held.column(keys) if stays_bytes(source.key) else typed
        return replaced(table, key=typed), keys, lefts

    def _rows(self, wanted: list[Any]) -> list[Any]:
        """Return the table's values for the given keys; None for a key of None."""
        if self._table.key.ordered.hashes_by_bytes:
            asked = dict.fromkeys(wanted)
            asked.pop(None, None)
            found = dict(zip(asked, self._reader.get_many(list(asked)), strict=True))
            found[None] = None
            return list(map(found.__getitem__, wanted))
        asked_for = [key for key in wanted if key is not None]
        rows = iter(self._reader.get_many(asked_for))
        return [None if key is None else next(rows) for key in wanted]
