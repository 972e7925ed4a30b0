"""Writes a task's results of a batch as staged files of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from kstreams import Record
from kstreams.sinks import CommitId, Results, Writer
from kstreams_rows.column_types import ToColumns
from kstreams_rows.columnar import Columns, columnar
from kstreams_rows.encoding import made
from kstreams_rows.refusing import Refusals, refused
from kstreams_rows.staging import Attempt, Files, Receipt, Staging

__all__ = ("DataFiles", "TableFormat", "TableWriter")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""
T = TypeVar("T")
"""The type of an operation's result."""


@dataclass(frozen=True)
class DataFiles:
    """Files to add to a table.

    Attributes:
        data: The bytes of each file, by name.
        entries: The log entries of the files, as text.
    """

    data: Mapping[str, bytes]
    entries: tuple[str, ...]


class TableFormat(Protocol):
    """The format of a table's data files, as a worker uses it."""

    @property
    def place(self) -> str:
        """The name of the table format in errors."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table."""
        ...

    @property
    def files(self) -> Files:
        """The storage of the table's files."""
        ...

    def check(self, row: Columns) -> None:
        """Raise `ValueError` for a row that the table would not return unchanged."""
        ...

    def data_files(self, rows: pa.Table, attempt: Attempt) -> DataFiles:
        """Return one file per partition with its rows."""
        ...


class TableWriter(Writer[K, V]):
    """A `Writer` that stages files.

    Args:
        table: Opens the table, at the first batch.
        row: Builds a row from key and value.
        retried: Runs an operation, with retries while the storage does not answer.
    """

    def __init__(
        self,
        table: Callable[[], TableFormat],
        row: Callable[[K, V], object | None],
        retried: Callable[[Callable[[], Any]], Any],
    ) -> None:
        self._open = table
        self._row = row
        self._retried = retried
        self._opened: tuple[TableFormat, Staging, ToColumns] | None = None

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Stage a batch's results; return the receipt."""
        if self._opened is None:
            table = self._retried(self._open)
            self._opened = table, Staging(table.files), ToColumns(table.schema)
        table, staging, to_columns = self._opened
        records = results.records()
        found, wrong = made(records, lambda record: self._columns(table, to_columns, record))
        rows, unfit = columnar([columns for _, columns in found], table.schema)
        for place, reason in unfit.items():
            number, columns = found[place]
            wrong.append(refused(number, records[number], reason, value=dict(columns)))
        Refusals(results, table.place).reject(sorted(wrong, key=lambda each: each.row))
        if not rows.num_rows:
            return ()
        return (self._retried(lambda: _staged(table, staging, rows, commit)),)

    def close(self) -> None:
        """Do nothing, because the writer holds no resources."""

    def _columns(
        self, table: TableFormat, to_columns: ToColumns, record: Record[Any, Any]
    ) -> Columns | None:
        row = self._row(record.key, record.value)
        if row is None:
            return None
        columns = to_columns(row)
        table.check(columns)
        return columns


def _staged(table: TableFormat, staging: Staging, rows: pa.Table, commit: CommitId) -> str:
    attempt = Attempt.at(commit)
    files = table.data_files(rows, attempt)
    staging.stage(attempt, files.data)
    return str(Receipt(attempt.manifest, files.entries))
