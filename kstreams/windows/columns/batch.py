"""The records of a table that a windowed aggregation processes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property

import pyarrow as pa

from kstreams._types import Ints
from kstreams.columns.keys import KeyCodes
from kstreams.columns.values import ValueColumn
from kstreams.processors.columns import STREAM_TIME, ColumnSource
from kstreams.processors.each_row import naming
from kstreams.windows.rules import lateness_time

__all__ = ("Batch",)


class Batch:
    """Records with keys, and derived columns that are computed once.

    Args:
        table: The records, as a `ColumnProcessor` receives them.
        source: The source of the records.
        close_time_ms: The stream time up to which a run has closed windows early, ms; -1 if it has
            not.
    """

    def __init__(self, table: pa.Table, source: ColumnSource, close_time_ms: int) -> None:
        self.table = table
        self.source = source
        self._close_time = close_time_ms

    def __len__(self) -> int:
        """Return the number of records."""
        count: int = self.table.num_rows
        return count

    @cached_property
    def keys(self) -> KeyCodes:
        """The distinct keys of the records, and the number of each record's key."""
        return KeyCodes(self.table.column("key").combine_chunks(), self.source.key)

    @cached_property
    def times(self) -> Ints:
        """The records' timestamps, ms."""
        times: Ints = self.table.column("timestamp").to_numpy()
        return times

    @cached_property
    def stream(self) -> Ints:
        """Stream time as of each record, ms."""
        stream: Ints = self.table.column(STREAM_TIME).to_numpy()
        return stream

    @cached_property
    def lateness_times(self) -> Ints:
        """For each record, the time that decides which windows are closed, ms."""
        return lateness_time(self.stream, self._close_time)

    def values(self) -> ValueColumn:
        """Return the records' values, decoded lazily."""
        return ValueColumn(self.table.column("value").combine_chunks(), self.source.value)

    def naming(self, rows: Ints) -> AbstractContextManager[None]:
        """Convert exceptions of users' functions in the block to errors that name the record.

        Args:
            rows: For each function call, the row number of its record.
        """
        return naming(self.table, self.source.key, rows)

    def headers_of(self, rows: Ints) -> pa.Array:
        """Return the headers of the given records."""
        headers = self.table.column("headers").combine_chunks()
        if headers.null_count == len(headers):
            return pa.nulls(len(rows), headers.type)
        return headers.take(pa.array(rows))
