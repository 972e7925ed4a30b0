"""A table that consists of files and a log, as a sink."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

import pyarrow as pa
from typing_extensions import override

from kstreams.sinks import CommitId, Guarantee, Sink, Writer
from kstreams_rows.column_types import schema_of
from kstreams_rows.publishing import TableLog, publish_once
from kstreams_rows.table_writer import TableFormat, TableWriter

__all__ = ("FileTable", "NewColumns", "TableStorage")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""
T = TypeVar("T")
"""The type of an operation's result."""

NewColumns: TypeAlias = Literal["fail", "add"]
"""The policy for columns of the rows that the table lacks."""


class TableStorage(Protocol):
    """The storage of a table: runs operations on it, with retries."""

    def retried(self, work: Callable[[], T], forget: Callable[[], None] = ...) -> T:
        """Return the result of an operation; after a temporary failure, call `forget` and retry.

        Args:
            work: The operation; it must be safe to repeat.
            forget: Drops the open table, so that the next try opens it again.
        """
        ...


class FileTable(Sink[K, V]):
    """The common base of table sinks, which are dataclasses of their settings."""

    rows: type | pa.Schema
    row: Callable[[K, V], object | None]

    @property
    @override
    def guarantee(self) -> Guarantee:
        return "exactly-once"

    def prepare(self) -> None:
        """Create the table, or check that it can store the rows.

        Raises:
            SinkUnavailableError: The storage does not answer.
            SinkError: The table has other columns, or requires writer features that the sink lacks.
        """
        self._where().retried(self._prepare)

    @override
    def open(self) -> Writer[K, V]:
        return TableWriter(self._format, self.row, self._where().retried)

    def publish(self, receipts: Mapping[CommitId, Sequence[str]]) -> None:
        """Commit a version of the table with the files of a batch's tasks.

        Raises:
            SinkUnavailableError: The storage does not answer.
            SinkError: The table has changed and no longer accepts the files, or files are gone.
        """
        log, first = self._log, not self._log.opened
        self._where().retried(lambda: publish_once(log, receipts, after_a_pause=first), log.forget)

    @abstractmethod
    def _where(self) -> TableStorage:
        """Return the storage of the table."""

    @abstractmethod
    def _prepare(self) -> None:
        """Create the table, or check that it can store the rows."""

    @abstractmethod
    def _format(self) -> TableFormat:
        """Open the table in a worker, and check that it can store the rows."""

    @abstractmethod
    def _open_log(self) -> TableLog[Any]:
        """Return the table's log."""

    @cached_property
    def _log(self) -> TableLog[Any]:
        return self._open_log()

    @cached_property
    def _schema(self) -> pa.Schema:
        return schema_of(self.rows)

    def __getstate__(self) -> dict[str, object]:
        """Return the state for pickling, without open connections."""
        settings: Any = self
        return {each.name: getattr(self, each.name) for each in fields(settings)}
