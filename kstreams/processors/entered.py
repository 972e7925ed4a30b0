"""Conversion of encoded records for stateless columnar operators directly below a source."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.processors.column_form import Input, Need
from kstreams.processors.columns import ColumnProcessor, ColumnSource
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import replaced
from kstreams.serde.base import Serde
from kstreams.serde.carried import carried_objects, stays_bytes
from kstreams.serde.object_columns import ObjectColumns

__all__ = ("Entered", "entered")


class Entered(ColumnProcessor):
    """Decodes encoded records to typed keys and values for a columnar operator.

    The operator receives tables like those that another column processor forwards.

    Args:
        operator: The operator that receives the decoded tables.
        source: The serdes of the records.
    """

    def __init__(self, operator: ColumnProcessor, source: ColumnSource) -> None:
        self._operator = operator
        self._source = source

    @property
    def reads_values(self) -> bool:
        """Return True: the operator may read values."""
        return True

    def init(self, context: BatchContext) -> None:
        """Initialize the operator, and create the buffer of objects that have no Arrow type."""
        super().init(context)
        self._objects = ObjectColumns()
        self._operator.init(context)

    def process_batch(self, table: pa.Table) -> None:
        """Decode a table, and pass it to the operator."""
        keys, values = (table.column(name).combine_chunks() for name in ("key", "value"))
        key, value = self._source.key, self._source.value
        keys = self._typed(key, keys) if stays_bytes(key) else key.to_arrow(keys)
        values = self._typed(value, values) if stays_bytes(value) else values
        self._operator.process_batch(replaced(table, key=keys, value=values))

    def advance(self, stream_time_ms: int) -> None:
        """Release the decoded objects of the batch, and call the operator's `advance`."""
        self._objects.clear()
        self._operator.advance(stream_time_ms)

    def _typed(self, serde: Serde[Any], column: pa.Array) -> pa.Array:
        return self._objects.column(carried_objects(serde, column))


def entered(operator: ColumnProcessor, rows: Input) -> ColumnProcessor:
    """Return the operator, preceded by a decoder if its input needs decoding."""
    return Entered(operator, rows.records) if rows.need is Need.DECODED else operator
