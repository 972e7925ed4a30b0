"""Tables of late records, which columnar aggregation forwards."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.processors.columns import STREAM_TIME
from kstreams.serde.base import Serde
from kstreams.serde.carried import carried_objects
from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of
from kstreams.windows.columns.assignment import Assigned
from kstreams.windows.columns.batch import Batch
from kstreams.windows.late import Late
from kstreams.windows.rules import closed_end

__all__ = ("LateRecords",)


class LateRecords:
    """Creates the tables in which late records are forwarded.

    Args:
        close_delay_ms: The time from the end of a window to its close.
    """

    def __init__(self, close_delay_ms: int) -> None:
        self._close_delay = close_delay_ms

    def table(self, batch: Batch, pairs: Assigned) -> pa.Table:
        """Return a table of late records, with `Late` values.

        Args:
            batch: All records of the batch.
            pairs: The pairs of late records and closed windows.
        """
        source, rows = batch.source, batch.table.take(pa.array(pairs.rows))
        times = batch.lateness_times[pairs.rows]
        values = rows.column("value").combine_chunks()
        lateness = closed_end(times, self._close_delay) - pairs.ends
        numbers = map(pa.array, (pairs.starts, pairs.ends, times, lateness))
        # Arrow keeps no type alive, and could not make this one again: it has a serde.
        self._type = _LateType(values.type, source.value)
        columns = {
            "key": source.key.to_arrow(rows.column("key").combine_chunks()),
            "value": self._type.of(values, *numbers),
            "timestamp": rows.column("timestamp"),
            "headers": rows.column("headers"),
            STREAM_TIME: rows.column(STREAM_TIME),
        }
        return pa.table(columns)


class _LateType(ObjectType):
    """The extension type of `Late` values.

    Args:
        value: The type of the rejected values.
        serde: The serde of the rejected values.
    """

    def __init__(self, value: pa.DataType, serde: Serde[Any]) -> None:
        numbers = ("start_ms", "end_ms", "stream_time_ms", "lateness_ms")
        fields = [("value", value), *((name, pa.int64()) for name in numbers)]
        super().__init__(pa.struct(fields), "kstreams.late")
        self._serde = serde

    def objects(self, storage: pa.StructArray) -> list[Any]:
        """Convert rows of the storage to `Late` values."""
        values, *numbers = storage.flatten()
        found = carried_objects(self._serde, values)
        return list(map(Late, found, *map(objects_of, numbers)))
