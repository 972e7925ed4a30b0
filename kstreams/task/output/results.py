"""Collect the unencoded records of a sink other than a topic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from kstreams.errors import SerializationError
from kstreams.quoting import text_of
from kstreams.record import Record
from kstreams.task.records.columns import concat, rows_of, table_of, whole

__all__ = ("ResultCollector", "SinkInput")

_COLUMNS = ("key", "value", "timestamp", "headers")

_Part = Any
"""A list of records, or a table of `COLUMNS`."""


class SinkInput:
    """The input of one sink in one batch, as records and tables.

    Args:
        parts: Lists of records and tables of `COLUMNS`, in the order of forwarding.
    """

    def __init__(self, parts: Sequence[_Part]) -> None:
        self._parts = parts
        self._records: list[Record[Any, Any]] | None = None

    def __len__(self) -> int:
        """Return the number of records."""
        return sum(map(len, self._parts))

    def records(self) -> list[Record[Any, Any]]:
        """Return all input as records; the list is created by the first call."""
        if self._records is None:
            lists = [part if isinstance(part, list) else rows_of(part) for part in self._parts]
            self._records = [record for each in lists for record in each]
        return self._records

    def columns(self) -> pa.Table:
        """Return all input as one table, with the columns of `Results.columns`.

        Raises:
            pa.ArrowException, TypeError, OverflowError: Keys or values do not fit into a column.
        """
        tables = [
            table_of(part, None, None) if isinstance(part, list) else part for part in self._parts
        ]
        return concat([table.select(_COLUMNS) for table in tables])


class ResultCollector:
    """Collects the results of a sink as objects and tables, which the sink's writer encodes.

    A processor must not change a forwarded object, because the object is encoded later.

    Args:
        node: The sink's name.

    Attributes:
        take: Adds a record to the results.
    """

    def __init__(self, node: str) -> None:
        self._node = node
        self._parts: list[_Part] = []
        self._before = 0
        self._records: list[Record[Any, Any]] = []
        self.take: Callable[[Record[Any, Any]], None] = self._records.append

    def take_table(self, table: pa.Table) -> None:
        """Take a table of a batch processor.

        Raises:
            SerializationError: The table lacks a column key, value or timestamp.
        """
        try:
            rows = whole(table)
        except (pa.ArrowException, KeyError, ValueError) as exc:
            raise SerializationError(
                f"the forwarded table cannot be read: {text_of(exc)}",
                hint="the table needs the columns key, value and timestamp (int64).",
            ).at(node=self._node) from exc
        self._add(self._records.copy())
        self._records.clear()
        self._add(rows)

    def mark(self) -> int:
        """Return the number of taken records, the argument of `cut`."""
        return self._before + len(self._records)

    def cut(self, mark: int) -> None:
        """Drop the records that were taken after the call of `mark` that returned `mark`."""
        del self._records[max(mark - self._before, 0) :]
        while self._before > mark:
            part = self._parts.pop()
            self._before -= len(part)
            self._add(part[: max(mark - self._before, 0)])

    def drain(self) -> SinkInput | None:
        """Return the taken records as the sink's input, and clear them; None without records."""
        parts = [*self._parts, self._records.copy()]
        self._parts, self._before = [], 0
        self._records.clear()
        found = SinkInput([part for part in parts if len(part)])
        return found if len(found) else None

    def _add(self, part: _Part) -> None:
        if len(part):
            self._parts.append(part)
            self._before += len(part)
