"""A table of Iceberg as a sink: what a user says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TypeVar

import pyarrow as pa

from kstreams_iceberg.files import IcebergFormat
from kstreams_iceberg.log import IcebergLog
from kstreams_iceberg.schema import add_missing, check, make
from kstreams_iceberg.sdk import Table
from kstreams_iceberg.storage import Storage
from kstreams_rows.file_table import FileTable, NewColumns

__all__ = ("IcebergTable", "NewColumns")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class IcebergTable(FileTable[K, V]):
    """Appends results to a table of Apache Iceberg, exactly once.

    A task's results of a batch are a file, in each partition one, which nobody sees. When the
    batch is committed, one snapshot of the table has the files of all tasks, and the table's
    properties say which batch it has of each: what comes again, or late, is found there. Where
    other writers of the table come between, it is looked at again.

    A row that does not fit the table's columns (a value of another type or too large, none where
    one is needed, a column that there is not) is refused alone, before anything is written.

    Args:
        table: Its name in the catalog, with its namespace, which has to be there: `shop.totals`.
        rows: What a row has: a dataclass, whose fields are columns (`str`, `int`, `float`, `bool`,
            `bytes`, `date`, `datetime` with a zone, lists, dicts by text, dataclasses, and with
            `| None`), or a `pyarrow.Schema`. `prepare` makes the table by it if there is none. One
            that is there may have other widths (`int` of 32 bits), more columns, if they need no
            value, and any partitions.
        row: Makes a row of key and value: an object of that type, or a mapping by column; None
            leaves the result out.
        catalog: Properties of the catalog, as pyiceberg has them: its `type`, `uri`, `warehouse`,
            credentials. They show in no text. What is left out comes from pyiceberg's configuration
            on each machine.
        catalog_name: Its name in that configuration.
        partition_by: Columns by whose values a new table is divided.
        new_columns: What becomes of columns that the table does not have: `"fail"` at the start, or
            `"add"` them to it, where rows of before have no value.
        give_up_after: How long to try again while catalog or storage do not answer, or others
            write.

    Raises:
        ValueError: The name has no namespace, or the rows no such columns.

    Source: Flink's sink of Iceberg, which keeps its last checkpoint in snapshots' summaries.
    """

    table: str
    rows: type | pa.Schema
    _: KW_ONLY
    row: Callable[[K, V], object | None]
    catalog: Mapping[str, str] = field(default_factory=dict, repr=False)
    catalog_name: str = "default"
    partition_by: Sequence[str] = ()
    new_columns: NewColumns = "fail"
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        object.__setattr__(self, "partition_by", tuple(self.partition_by))
        if not all(self.table.split(".")) or "." not in self.table:
            raise ValueError(f"{self.table!r} names no table: give namespace.table")
        for name in self.partition_by:
            if name not in self._schema.names:
                raise ValueError(f"partition_by names {name!r}, which is no column of the rows")

    def __repr__(self) -> str:
        """Show all but the function and the catalog."""
        columns = tuple(self._schema.names)
        return f"IcebergTable({self.table!r}, {columns!r}, partition_by={self.partition_by!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"iceberg table {self.table}"

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self.table, self.catalog_name, self.catalog, self.give_up_after)

    def _where(self) -> Storage:
        return self._storage

    def _prepare(self) -> None:
        found = self._storage.open()
        if found is None:
            make(self._storage.catalog, self.table, self._schema, self.partition_by)
        elif self.new_columns == "add":
            add_missing(found, self._schema)
        self._check(self._storage.there())

    def _format(self) -> IcebergFormat:
        table = self._storage.there()
        self._check(table)
        return IcebergFormat(table)

    def _open_log(self) -> IcebergLog:
        return IcebergLog(self._storage.there, self._check)

    def _check(self, table: Table) -> None:
        check(table, self._schema, self.table)
