"""The states of a columnar aggregation by key: grouping of rows, and access to the store."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.columns.grouping import Grouped, grouped
from kstreams.columns.keys import KeyCodes, has_key_codes
from kstreams.columns.values import ValueColumn
from kstreams.processors.columns import ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import naming
from kstreams.serde.encoded_type import EncodedType
from kstreams.serde.layout import Columns
from kstreams.serde.objects import objects_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.columns import TimestampedColumns

__all__ = ("KeyedRows", "KeyedStates")


class KeyedRows(NamedTuple):
    """Rows grouped by key, with the stored states of the keys.

    Attributes:
        keys: The distinct keys.
        groups: The rows' numbers sorted by key, and their division into one run per key.
        lifted: The state of each row alone, sorted by key.
        handles: The keys as encoded in the store, in the order of the runs.
        before: The stored states.
        places: The run number of each stored state.
    """

    keys: KeyCodes
    groups: Grouped
    lifted: Columns
    handles: list[bytes]
    before: Columns
    places: Ints


class KeyedStates:
    """Reads and writes the states of the keys of a batch.

    Args:
        form: The column form of the aggregator.
        store: The store of the aggregator's states.
        source: The serdes of the incoming records.
    """

    def __init__(self, form: StampedForm, store: StoreSpec[Any], source: ColumnSource) -> None:
        self.form = form
        self.source = source
        self._spec = store
        self._kind = None if has_key_codes(source.key) else EncodedType(source.key)

    @property
    def reads_values(self) -> bool:
        """Return True if the aggregator reads values, or if null values must be dropped."""
        return self.form.reads_values or self.source.nulls

    @property
    def required(self) -> tuple[str, ...]:
        """The columns in which rows with a null are dropped, in this order."""
        return ("key", "value") if self.reads_values else ("key",)

    def open(self, context: BatchContext) -> None:
        """Open the store."""
        self.store = TimestampedColumns.of(context.store(self._spec), objects=self.form.of_objects)

    def of_rows(self, table: pa.Table) -> KeyedRows:
        """Group the rows of a table by key, and read the stored states of the keys.

        Args:
            table: One or more rows, without nulls in the columns `required`.

        Raises:
            ProcessingError: A function of the aggregator raised.
        """
        keys = KeyCodes(table.column("key").combine_chunks(), self.source.key, self._kind)
        groups = grouped(np.zeros(len(keys.codes), np.int64), keys.codes, len(keys))
        values = ValueColumn(table.column("value").combine_chunks(), self.source.value)
        with naming(table, self.source.key):
            lifted = self.form.lift(values, table.column("timestamp").to_numpy())
        lifted = tuple(column[groups.order] for column in lifted)
        handles = objects_of(keys.stored)
        places, before = self.store.read(handles)
        return KeyedRows(keys, groups, lifted, handles, before, places)
