"""A table of Delta as a sink: what a user says of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import pyarrow as pa

from kstreams_delta.files import DeltaFormat
from kstreams_delta.log import DeltaLog
from kstreams_delta.schema import add_missing, check, check_partitions
from kstreams_delta.sdk import deltalake
from kstreams_delta.storage import Storage
from kstreams_rows.file_table import FileTable, NewColumns

__all__ = ("DeltaTable", "NewColumns")

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


@dataclass(frozen=True, repr=False)
class DeltaTable(FileTable[K, V]):
    """Appends results to a table of Delta Lake, exactly once.

    A task's results of a batch are a file, in each partition one, which nobody sees. When the
    batch is committed, one version of the table has the files of all tasks, and says by `txn`
    actions which batch it has of each: what comes again, or late, is found there. Another writer
    of the table is no hindrance.

    A row that does not fit the table's columns (a value of another type or too large, none where
    one is needed, a column that there is not) is refused alone, before anything is written.

    Args:
        uri: A directory that driver and workers share, or a URL such as `s3://bucket/totals`.
        rows: What a row has: a dataclass, whose fields are columns (`str`, `int`, `float`, `bool`,
            `bytes`, `date`, `datetime` with a zone, lists, dicts by text, dataclasses, and with
            `| None`), or a `pyarrow.Schema`. `prepare` makes the table by it if there is none. One
            that is there may have other widths (`int32` for `int`), and more columns, if they need
            no value.
        row: Makes a row of key and value: an object of that type, or a mapping by column; None
            leaves the result out.
        partition_by: Columns by which a new table is divided: texts, whole numbers, bools, dates.
        new_columns: What becomes of columns that the table does not have: `"fail"` at the start, or
            `"add"` them to it, where rows of before have no value.
        options: Of deltalake's storage, such as `{"region": "eu-central-1"}`; they show in no text.
        give_up_after: How long to try again while the storage does not answer.

    Raises:
        ValueError: The uri has a password, or the rows no such columns.

    Source: `txnAppId` and `txnVersion` of Delta's own writer on Spark, with one of them a task.
    """

    uri: str
    rows: type | pa.Schema
    _: KW_ONLY
    row: Callable[[K, V], object | None]
    partition_by: Sequence[str] = ()
    new_columns: NewColumns = "fail"
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    give_up_after: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        object.__setattr__(self, "uri", _checked(os.fspath(self.uri)))
        object.__setattr__(self, "partition_by", tuple(self.partition_by))
        check_partitions(self._schema, self.partition_by)

    def __repr__(self) -> str:
        """Show all but the function and the options."""
        columns = tuple(self._schema.names)
        return f"DeltaTable({self.uri!r}, {columns!r}, partition_by={self.partition_by!r})"

    @property
    def label(self) -> str:
        """What pictures of the topology show."""
        return f"delta table {self.uri}"

    @cached_property
    def _storage(self) -> Storage:
        return Storage(self.uri, self.options, self.give_up_after)

    def _where(self) -> Storage:
        return self._storage

    def _prepare(self) -> None:
        if self._storage.open() is None:
            deltalake.DeltaTable.create(
                self.uri,
                deltalake.Schema.from_arrow(self._schema),
                mode="ignore",  # as somebody may have made it just now
                partition_by=list(self.partition_by),
                storage_options=dict(self._storage.options),
            )
        elif self.new_columns == "add":
            add_missing(self._storage.there(), self._schema)
        self._check(self._storage.there())

    def _format(self) -> DeltaFormat:
        table = self._storage.there()
        self._check(table)
        return DeltaFormat(table, self._storage.files())

    def _open_log(self) -> DeltaLog:
        return DeltaLog(self._storage.there, self._check, self._storage.files())

    def _check(self, table: deltalake.DeltaTable) -> None:
        check(table, self._schema, self.partition_by)


def _checked(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.password is not None or (parts.scheme and parts.query):
        raise ValueError("secrets of a table's storage go into options=, not into its uri")
    if not uri:
        raise ValueError("a DeltaTable needs a directory or a URL")
    return uri if "://" in uri else str(Path(uri).absolute())
