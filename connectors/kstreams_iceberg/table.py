"""The Apache Iceberg sink and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TypeVar

import pyarrow as pa
from typing_extensions import override

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
    """Appends results to an Apache Iceberg table, exactly once.

    Each task writes its results of a batch to one file per partition, which readers do not see yet.
    When the batch commits, one snapshot of the table adds the files of all tasks; the table's
    properties store the committed batch of each task, so a repeated or late batch is recognized. If
    another writer commits in between, the sink checks the table again and retries.

    A row that does not fit the table's columns (a value of a wrong type or too large, a missing
    required value, an unknown column) is rejected individually, before anything is written.

    Args:
        table: The table's name in the catalog, with its namespace, which must exist: `shop.totals`.
        rows: The columns of a row: a dataclass, whose fields are columns (`str`, `int`, `float`,
            `bool`, `bytes`, `date`, `datetime` with a zone, lists, dicts with text keys,
            dataclasses, each also with `| None`), or a `pyarrow.Schema`. `prepare` creates the
            table with it if there is none. An existing table may have other widths (`int` of 32
            bits), more columns, if those are nullable, and any partition spec.
        row: Builds a row from key and value: an object of that type, or a mapping by column; None
            skips the result.
        catalog: Catalog properties of pyiceberg: `type`, `uri`, `warehouse`, credentials. Logs and
            errors do not show them. Missing properties come from pyiceberg's configuration on each
            machine.
        catalog_name: The catalog's name in that configuration.
        partition_by: The partition columns of a new table, with the identity transform.
        new_columns: The policy for columns that the table lacks: `"fail"` at the start, or
            `"add"` them to the table, where existing rows have nulls.
        give_up_after: The maximum time to retry while the catalog or the storage does not answer,
            or while other writers win commits.

    Raises:
        ValueError: The name has no namespace, or the columns of `rows` are not supported.

    Source: Flink's Iceberg sink, which stores its last checkpoint in snapshot summaries.
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
            raise ValueError(f"table name {self.table!r} is not valid: expected namespace.table")
        for name in self.partition_by:
            if name not in self._schema.names:
                known = ", ".join(self._schema.names)
                raise ValueError(
                    f"partition_by= names {name!r}, but rows= has only the columns {known}"
                )

    def __repr__(self) -> str:
        """Return a text without the function and the catalog."""
        columns = tuple(self._schema.names)
        return f"IcebergTable({self.table!r}, {columns!r}, partition_by={self.partition_by!r})"

    @property
    @override
    def label(self) -> str:
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
