"""Arrow tables of changes, which columnar table nodes forward.

Columnar nodes read the columns of new and old values directly. `Change` objects are created only
for nodes that process single records.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from itertools import chain, compress
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.joins.change import Change
from kstreams.joins.columns.key_numbers import KeyNumbers
from kstreams.processors.columns import ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import replaced
from kstreams.serde.object_columns import ObjectColumns, lazy_parts
from kstreams.serde.objects import object_column, objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Row
from kstreams.state.stores.table_columns import PresentColumns

__all__ = ("OLD_TIME", "Changes", "ChangesProcessor", "StoredChanges", "parted", "put_rows")

OLD_TIME = "old_timestamp"
"""Name of the column (int64) of the old rows' times, ms; 0 if there was no row."""

_NO_TIMES = np.empty(0, np.int64)
_NO_ROW: Row = (None, 0)
_VALUE: Callable[[Row], Any] = itemgetter(0)
_TIME: Callable[[Row], int] = itemgetter(1)


class Changes(NamedTuple):
    """Changes of a table, as columns; each change affects its row's current value.

    Attributes:
        keys: The keys, of any Arrow type.
        news: The values after the changes; None if the row is deleted.
        olds: The values before the changes; None if there was no row.
        times: The times of the changes, ms.
    """

    keys: pa.Array
    news: list[Any]
    olds: list[Any]
    times: Ints

    @classmethod
    def of(cls, table: pa.Table) -> Changes:
        """Return the changes in a forwarded table, whose values are changes."""
        values = table.column("value")
        parts = lazy_parts(values)
        if parts is None:
            changes: list[Change[Any]] = objects_of(values)
            parts = [change.new for change in changes], [change.old for change in changes]
        keys = table.column("key").combine_chunks()
        return cls(keys, parts[0], parts[1], table.column("timestamp").to_numpy())

    @classmethod
    def joined(cls, some: Sequence[Changes], held: ObjectColumns) -> Changes:
        """Concatenate changes.

        Args:
            some: The changes to concatenate.
            held: Holds keys that have no Arrow type.
        """
        if len(some) == 1:
            return some[0]
        keys = held.concatenated([each.keys for each in some])
        news = list(chain.from_iterable(each.news for each in some))
        olds = list(chain.from_iterable(each.olds for each in some))
        return cls(keys, news, olds, np.concatenate([_NO_TIMES, *(each.times for each in some)]))

    def kept(self, keep: Sequence[Any]) -> Changes:
        """Return the changes for which `keep` is true."""
        mask = list(map(bool, keep))
        if all(mask):
            return self
        rows = np.flatnonzero(mask)
        news, olds = list(compress(self.news, mask)), list(compress(self.olds, mask))
        return Changes(self.keys.take(pa.array(rows)), news, olds, self.times[rows])


def parted(rows: Sequence[Row | None]) -> tuple[list[Any], list[int]]:
    """Split rows into a list of values and a list of times (ms): None and 0 for a missing row."""
    filled = [row or _NO_ROW for row in rows]
    return list(map(_VALUE, filled)), list(map(_TIME, filled))


def put_rows(
    table: PresentColumns, keys: pa.Array, values: list[Any], times: Sequence[int]
) -> list[Row | None]:
    """Put rows into a table in order, and return the row that each one replaces.

    A row is None if it does not exist.

    Args:
        table: The table; all earlier puts must have been written to its store.
        keys: The keys, in a form in which equal keys compare equal.
        values: The values; None deletes.
        times: The times, ms.
    """
    pairs = zip(values, times, strict=True)
    rows = [None if value is None else (value, time) for value, time in pairs]
    objects, numbers = objects_of(keys), KeyNumbers.of(keys)
    if numbers.are_different:
        stored = table.read(objects)
        table.write(objects, rows)
        return stored
    different = object_column(objects)[numbers.first].tolist()
    stored, before, put = table.read(different), numbers.before, object_column(rows)
    table.write(different, put[numbers.last].tolist())
    at_first = object_column(stored)[numbers.codes]
    replaced_rows: list[Row | None] = np.where(before < 0, at_first, put[before]).tolist()
    return replaced_rows


class ChangesProcessor(ColumnProcessor):
    """Base class of columnar nodes that forward changes."""

    @property
    def reads_values(self) -> bool:
        """Return True: the processor reads the values of its input."""
        return True

    def init(self, context: BatchContext) -> None:
        """Create `ObjectColumns` for the batch's values that have no Arrow type."""
        super().init(context)
        self._objects = ObjectColumns()

    def advance(self, stream_time_ms: int) -> None:
        """Release the batch's objects that have no Arrow type."""
        self._objects.clear()

    @abstractmethod
    def process_batch(self, table: pa.Table) -> None:
        """Process a table of input rows, and forward the resulting changes."""

    def _forward(self, table: pa.Table, news: list[Any], olds: list[Any]) -> None:
        """Forward a table, with changes of these new and old values as its values."""
        self.context.forward(replaced(table, value=self._objects.lazy_column(Change, news, olds)))

    def _typed(self, table: pa.Table, source: ColumnSource) -> pa.Table:
        """Return a table with its keys decoded to the `arrow_type` of the source's key serde."""
        return replaced(table, key=source.key.to_arrow(table.column("key").combine_chunks()))


class StoredChanges(ChangesProcessor):
    """Base class of nodes that put rows into a table's store, and forward the changes.

    Args:
        store: Definition of the store; nothing else writes to it.
    """

    def __init__(self, store: StoreSpec[Any]) -> None:
        self._spec = store

    def init(self, context: BatchContext) -> None:
        """Open the store."""
        super().init(context)
        table = self._spec.kind.table_columns(self._spec, context.store(self._spec))
        self._table = PresentColumns.among(table, self._spec.name)

    def _put(self, table: pa.Table, values: list[Any]) -> None:
        """Put rows in order, and forward the resulting changes.

        Args:
            table: The keys, timestamps and other columns of the rows, without their values.
            values: The values; None deletes.
        """
        keys, times = table.column("key").combine_chunks(), objects_of(table.column("timestamp"))
        olds, old_times = parted(put_rows(self._table, keys, values, times))
        if OLD_TIME in table.column_names:  # of the rows of another table
            table = table.drop_columns([OLD_TIME])
        table = table.append_column(OLD_TIME, pa.array(old_times, pa.int64()))
        self._forward(table, values, olds)
