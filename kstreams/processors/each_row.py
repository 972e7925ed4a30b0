"""Column processors that call a user's function for each row, and report the failing row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from kstreams._types import Ints
from kstreams.columns.row_failure import RowFailure, called
from kstreams.errors import KStreamsError, ProcessingError, Where
from kstreams.processors.columns import PLACE, ColumnProcessor
from kstreams.processors.context import BatchContext
from kstreams.serde.base import Serde
from kstreams.serde.object_columns import ObjectColumns
from kstreams.serde.objects import objects_of

__all__ = ("EachRow", "each_row", "naming", "replaced", "row_error")


class EachRow(ColumnProcessor):
    """Base class of column processors that call a user's function for each row.

    The base class keeps results that have no Arrow type as Python objects until the batch ends.
    """

    @property
    def reads_values(self) -> bool:
        """Return True: the function may read values."""
        return True

    def init(self, context: BatchContext) -> None:
        """Keep the context, and create the buffer of Python objects that have no Arrow type."""
        super().init(context)
        self.held = ObjectColumns()

    def advance(self, stream_time_ms: int) -> None:
        """Release the Python objects of the batch."""
        self.held.clear()

    def with_results(self, table: pa.Table, **columns: list[Any]) -> pa.Table:
        """Return the table with the given columns replaced by columns of Python objects."""
        return replaced(table, **{name: self.held.column(each) for name, each in columns.items()})


def replaced(table: pa.Table, **columns: pa.Array) -> pa.Table:
    """Return a table with the given columns replaced."""
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def each_row(function: Callable[..., Any], table: pa.Table, *columns: Sequence[Any]) -> list[Any]:
    """Call a function for each row, and return the results.

    Args:
        function: The user's function.
        table: The rows; an error names the key and timestamp of the failed row.
        columns: The arguments of the function.

    Raises:
        ProcessingError: The function raised.
    """
    try:
        return called(function, *columns)
    except RowFailure as failure:
        raise row_error(table, failure.row, failure.reason) from failure.reason


@contextmanager
def naming(table: pa.Table, key: Serde[Any], rows: Ints | None = None) -> Iterator[None]:
    """Convert exceptions of users' functions in the block to errors that name the record.

    Args:
        table: The input records with encoded keys.
        key: The serde of the keys.
        rows: For each function call, the row number in `table` of its record; None if the calls
            are in the order of the rows.

    Raises:
        ProcessingError: A function raised.
    """
    try:
        yield
    except RowFailure as failure:
        row = failure.row if rows is None else int(rows[failure.row])
        typed = replaced(table, key=key.to_arrow(table.column("key").combine_chunks()))
        raise row_error(typed, row, failure.reason) from failure.reason


def row_error(table: pa.Table, row: int, reason: BaseException) -> KStreamsError:
    """Return the error for a row whose function call raised.

    Args:
        table: The rows; the error names the key, timestamp and position of the row.
        row: The number of the row.
        reason: The exception that the function raised.
    """
    one = table.slice(row, 1)
    if isinstance(reason, KStreamsError) and isinstance(reason.where, Where):
        error: KStreamsError = reason
    else:
        error = ProcessingError.of(reason)
    error.at(
        key=objects_of(one.column("key"))[0],
        timestamp=one.column("timestamp")[0].as_py(),
    )
    if PLACE in one.column_names:
        error.place = one.column(PLACE)[0].as_py()
    return error
