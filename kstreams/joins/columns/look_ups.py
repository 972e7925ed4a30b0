"""Table lookups of columnar joins: find table rows as of batch positions, and join records."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.joins.common_joiners import left_value, pair, right_value
from kstreams.joins.joiner import Joiner
from kstreams.joins.table_rows import RowMaker
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import EachRow, each_row, replaced
from kstreams.serde.carried import stays_bytes
from kstreams.serde.objects import object_column, objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_columns import Found

__all__ = ("LookUps", "Values", "listed")

Values: TypeAlias = "list[Any] | pa.ChunkedArray"
"""The values of a batch, as objects or as a column."""

_NULL = -1
_NO_ROW = (None, 0)
_VALUE: Callable[[Any], Any] = itemgetter(0)


class LookUps(EachRow):
    """Base class of columnar stream-table joins.

    Args:
        store: The store of the table.
        joiner: An inner or a left joiner.
        source: The input of the stream's records; None if the parent is a column processor.
        maker: Derives the table's rows from the store's rows; None if the table is not derived.
    """

    def __init__(
        self,
        store: StoreSpec[Any],
        joiner: Joiner[Any, Any, Any, Any],
        source: ColumnSource | None,
        maker: RowMaker | None = None,
    ) -> None:
        self._spec = store
        self._joiner = joiner
        self._source = source
        self._maker = maker

    def init(self, context: BatchContext) -> None:
        """Open the table."""
        super().init(context)
        self._table = self._spec.kind.table_columns(self._spec, context.store(self._spec))

    def opened(self, table: pa.Table) -> pa.Table:
        """Return the rows that can be joined, with keys converted to their Arrow type.

        Drops records with null values, and in an inner join also records with null keys.
        """
        table = self.without_nulls(table, "value")
        if self._joiner.how == "inner":
            table = self.without_nulls(table, "key")
        key, keys = self._spec.key, table.column("key").combine_chunks()
        if self._source is None:  # keys of any type, which the table's serde takes or refuses
            keys = key.from_arrow(keys)
        return replaced(table, key=key.to_arrow(keys))

    def values(self, table: pa.Table) -> Values:
        """Return the stream's values: a column if they have an Arrow type, otherwise objects."""
        column, source = table.column("value"), self._source
        if source is None or not stays_bytes(source.value):
            return column
        return source.objects(column)

    def found(self, table: pa.Table, places: Ints) -> Found:
        """Look up the table row of each record, as of a batch position.

        A versioned table returns the version at the record's time.

        Args:
            table: The records; null keys have no row.
            places: The batch position of each lookup, ascending.
        """
        keys, times = table.column("key").combine_chunks(), table.column("timestamp").to_numpy()
        encoded = keys.dictionary_encode()
        codes = encoded.indices.fill_null(_NULL).to_numpy().astype(np.int64)
        known = slice(None) if not keys.null_count else np.flatnonzero(codes != _NULL)
        found = self._table.rows_at(encoded.dictionary, codes[known], places[known], times[known])
        if found.unknown:
            self.context.drop("no-history", found.unknown)
        if self._maker is not None:
            rows = table if not keys.null_count else table.take(pa.array(known))
            found = self._made(self._maker, found, rows)
        if not keys.null_count:
            return found
        numbers = np.full(len(codes), len(found.rows), np.int64)
        numbers[known] = found.numbers
        return Found([*found.rows, None], numbers)

    def _made(self, maker: RowMaker, found: Found, table: pa.Table) -> Found:
        """Derive the table's rows from the rows found in the store, once per distinct row.

        Args:
            maker: Derives a row.
            found: The rows found in the store.
            table: The records, one for each lookup.
        """
        used, first = np.unique(found.numbers, return_index=True)
        asking = table.select(["key", "timestamp"]).take(pa.array(first))
        before = [found.rows[number] for number in used.tolist()]
        made = each_row(maker, asking, objects_of(asking.column("key")), before)
        return found._replace(rows=made, numbers=np.searchsorted(used, found.numbers))

    def join(self, table: pa.Table, lefts: Values, found: Found) -> None:
        """Forward the joiner's results for the values of the stream and the found rows."""
        numbers, missing = found.numbers, None in found.rows
        if missing and self._joiner.how == "inner":
            there = np.array([row is not None for row in found.rows], bool)[numbers]
            table, numbers = table.filter(pa.array(there)), numbers[there]
            lefts = (
                list(compress(lefts, there.tolist()))
                if isinstance(lefts, list)
                else lefts.filter(pa.array(there))
            )
        if not table.num_rows:
            return
        rows = [row or _NO_ROW for row in found.rows] if missing else found.rows
        results = self._results(table, lefts, list(map(_VALUE, rows)), numbers)
        self.context.forward(replaced(table, value=results))

    def _results(
        self, table: pa.Table, lefts: Values, rights: list[Any], numbers: Ints
    ) -> pa.Array:
        """Return the column of results; a ready-made joiner function is not called per row.

        Args:
            table: The records; an error names the key and timestamp of the failed record.
            lefts: The values of the records.
            rights: The values of the found table rows.
            numbers: For each record, the index of its table row in `rights`.
        """
        function: object = self._joiner.function
        if function is left_value:
            return self.held.column(lefts) if isinstance(lefts, list) else lefts
        if function is right_value:
            return self.held.column(rights).take(pa.array(numbers))
        ones = listed(lefts)
        others = object_column(rights)[numbers].tolist()
        if function is pair:
            return self.held.column(list(zip(ones, others, strict=True)))
        return self.held.column(each_row(self._joiner.function, table, ones, others))


def listed(values: Values) -> list[Any]:
    """Return values as a list of Python objects."""
    return objects_of(values) if isinstance(values, pa.ChunkedArray) else values
