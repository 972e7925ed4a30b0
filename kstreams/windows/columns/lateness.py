"""Late records by columns, as they go on to whoever takes them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams._types import Ints
from kstreams.processors.columns import STREAM_TIME, ColumnSource
from kstreams.serde.base import Serde
from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.late import Late
from kstreams.windows.rules import closed_end

__all__ = ("LateRecords",)


class LateRecords:
    """Makes what is forwarded of late records.

    Args:
        source: What the records come from.
        close_delay_ms: From a window's end until it closes.
    """

    def __init__(self, source: ColumnSource, close_delay_ms: int) -> None:
        self._source = source
        self._close_delay = close_delay_ms

    def table(self, rows: pa.Table, pairs: Assigned, times: Ints) -> pa.Table:
        """Return a table of late records, with `Late` values.

        Args:
            rows: A record for each pair.
            pairs: The windows that refuse them.
            times: The time that the lateness of each is judged by, ms.
        """
        values = rows.column("value").combine_chunks()
        lateness = closed_end(times, self._close_delay) - pairs.ends
        numbers = map(pa.array, (pairs.starts, pairs.ends, times, lateness))
        # Arrow keeps no type alive, and could not make this one again: it has a serde.
        self._type = _LateType(values.type, self._source.value)
        columns = {
            "key": self._source.key.to_arrow(rows.column("key").combine_chunks()),
            "value": self._type.of(values, *numbers),
            "timestamp": rows.column("timestamp"),
            "headers": rows.column("headers"),
            STREAM_TIME: rows.column(STREAM_TIME),
        }
        return pa.table(columns)


class _LateType(ObjectType):
    """Values that a closed window refused.

    Args:
        value: Type of the values.
        serde: Decodes those that come as bytes.
    """

    def __init__(self, value: pa.DataType, serde: Serde[Any]) -> None:
        numbers = ("start_ms", "end_ms", "stream_time_ms", "lateness_ms")
        fields = [("value", value), *((name, pa.int64()) for name in numbers)]
        super().__init__(pa.struct(fields), "kstreams.late")
        self._serde = serde

    def objects(self, storage: pa.StructArray) -> list[Any]:
        """Return `Late` values."""
        values, *numbers = storage.flatten()
        whole = self._serde.arrow_type == pa.binary()
        found = self._serde.deserialize_many(values) if whole else objects_of(values)
        return list(map(Late, found, *map(objects_of, numbers)))
