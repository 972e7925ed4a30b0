"""Tables of records between column processors: as they come from a source, and as objects.

Directly below a source, a table has encoded keys, and values as `carried` returns them. A column
processor that forwards such records (`RecordColumns`) forwards typed columns instead, which any
node can read: bytes become columns of an `EncodedType`, which are decoded only if a node reads the
objects. `AsRecords` converts such a table back for a node that takes the records of a source.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.columns.values import ValueColumn
from kstreams.expressions.tree import Argument
from kstreams.processors.columns import ColumnProcessor, ColumnSource, RecordColumns
from kstreams.processors.context import BatchContext
from kstreams.processors.each_row import replaced
from kstreams.serde.base import Serde
from kstreams.serde.carried import carried, stays_bytes
from kstreams.serde.encoded_type import EncodedType
from kstreams.serde.text import BYTES

__all__ = ("AsRecords", "RecordsOfColumns", "TypedRecords")


class TypedRecords:
    """Converts the columns of records with certain serdes to typed columns.

    Args:
        source: The serdes of the records.
    """

    def __init__(self, source: ColumnSource) -> None:
        self._key, self._value = source.key, source.value
        self._types = {
            each: EncodedType(each)
            for each in (source.key, source.value)
            if stays_bytes(each) and each != BYTES
        }

    def keys(self, column: pa.ChunkedArray) -> pa.Array:
        """Return the typed column of encoded keys; a typed column stays as it is."""
        data = column.combine_chunks()
        if stays_bytes(self._key):
            return self._typed(self._key, data)
        return self._key.to_arrow(data) if data.type == pa.binary() else data

    def key_column(self, column: pa.ChunkedArray) -> ValueColumn:
        """Return encoded or typed keys, decoded when needed."""
        data = _stored(column.combine_chunks())
        encoded = data.type == pa.binary()
        return ValueColumn(carried(self._key, data) if encoded else data, self._key)

    def values(self, column: pa.ChunkedArray) -> pa.Array:
        """Return the typed column of carried values."""
        return self._typed(self._value, column.combine_chunks())

    def table(self, table: pa.Table) -> pa.Table:
        """Return a table with typed keys and values."""
        keys, values = self.keys(table.column("key")), self.values(table.column("value"))
        return replaced(table, key=keys, value=values)

    def argument(self, table: pa.Table, argument: Argument) -> ValueColumn:
        """Return the column of an argument of a function of key and value."""
        if argument == "key":
            return self.key_column(table.column("key"))
        return ValueColumn(table.column("value").combine_chunks(), self._value)

    def _typed(self, serde: Serde[Any], data: pa.Array) -> pa.Array:
        kind = self._types.get(serde)
        return data if kind is None or data.type != pa.binary() else kind.of_bytes(data)


class AsRecords(ColumnProcessor):
    """Passes typed tables to a column processor that takes the records of a source.

    Args:
        processor: The processor.
        source: The serdes of the records.
    """

    def __init__(self, processor: ColumnProcessor, source: ColumnSource) -> None:
        self._processor = processor
        self._source = source

    @property
    def reads_values(self) -> bool:
        """Return whether the processor reads values."""
        return self._processor.reads_values

    def init(self, context: BatchContext) -> None:
        """Initialize the processor."""
        super().init(context)
        self._processor.init(context)

    def process_batch(self, table: pa.Table) -> None:
        """Convert a table, and pass it to the processor."""
        self._processor.process_batch(self._converted(table))

    def advance(self, stream_time_ms: int) -> None:
        """Call the processor's `advance`."""
        self._processor.advance(stream_time_ms)

    def _converted(self, table: pa.Table) -> pa.Table:
        keys = _stored(table.column("key").combine_chunks())
        if keys.type != pa.binary():
            keys = self._source.key.from_arrow(keys)
        return replaced(table, key=keys, value=_stored(table.column("value").combine_chunks()))


class RecordsOfColumns(AsRecords, RecordColumns):
    """`AsRecords` for a processor that itself forwards records, and accepts typed keys.

    Args:
        processor: The processor.
        source: The serdes of the records.
    """

    def __init__(self, processor: RecordColumns, source: ColumnSource) -> None:
        super().__init__(processor, source)
        self._forwarded = processor.forwarded

    @property
    def forwarded(self) -> ColumnSource:
        """Return the serdes of the processor's records."""
        return self._forwarded

    def _converted(self, table: pa.Table) -> pa.Table:
        return replaced(table, value=_stored(table.column("value").combine_chunks()))


def _stored(column: pa.Array) -> pa.Array:
    """Return the bytes of a column of an `EncodedType`; other columns stay as they are."""
    return column.storage if isinstance(column.type, EncodedType) else column
