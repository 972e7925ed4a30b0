"""The records of a table that a windowed aggregation works on."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from kstreams._types import Ints
from kstreams.columns.keys import KeyCodes
from kstreams.columns.values import ValueColumn
from kstreams.processors.columns import STREAM_TIME, ColumnSource
from kstreams.windows.rules import lateness_time

__all__ = ("Batch",)


@dataclass(frozen=True)
class Batch:
    """Records, none of them without a key.

    Attributes:
        source: What they come from.
        table: Their columns, as a `ColumnProcessor` gets them.
        keys: Their keys by number.
        times: Their timestamps, ms.
        stream: Stream time as of each, ms.
        lateness_times: The stream time that the lateness of each is judged by, ms.
    """

    source: ColumnSource
    table: pa.Table
    keys: KeyCodes
    times: Ints
    stream: Ints
    lateness_times: Ints

    @classmethod
    def of(cls, table: pa.Table, source: ColumnSource, close_time: int) -> Batch:
        """Return the records of a table.

        Args:
            table: One record or more, all with a key.
            source: What they come from.
            close_time: The stream time as of which windows were closed early, ms.
        """
        stream = table.column(STREAM_TIME).to_numpy()
        return cls(
            source,
            table,
            KeyCodes(table.column("key").combine_chunks(), source.key),
            table.column("timestamp").to_numpy(),
            stream,
            lateness_time(stream, close_time),
        )

    def __len__(self) -> int:
        """Return how many records there are."""
        return len(self.times)

    def values(self) -> ValueColumn:
        """Return the records' values."""
        return ValueColumn(self.table.column("value").combine_chunks(), self.source.value)

    def headers_of(self, rows: Ints) -> pa.Array:
        """Return the headers of some records."""
        headers = self.table.column("headers").combine_chunks()
        if headers.null_count == len(headers):
            return pa.nulls(len(rows), headers.type)
        return headers.take(pa.array(rows))
