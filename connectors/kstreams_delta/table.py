"""The Delta Lake sink and its options."""

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
from typing_extensions import override

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
    """Appends results to a Delta Lake table, exactly once.

    Each task writes its results of a batch to one file per partition, which readers do not see yet.
    When the batch commits, one version of the table adds the files of all tasks; its `txn` actions
    store the committed batch of each task, so a repeated or late batch is recognized. Other writers
    may use the table at the same time.

    A row that does not fit the table's columns (a value of a wrong type or too large, a missing
    required value, an unknown column) is rejected individually, before anything is written.

    Args:
        uri: A directory that driver and workers share, or a URL such as `s3://bucket/totals`.
        rows: The columns of a row: a dataclass, whose fields are columns (`str`, `int`, `float`,
            `bool`, `bytes`, `date`, `datetime` with a zone, lists, dicts with text keys,
            dataclasses, each also with `| None`), or a `pyarrow.Schema`. `prepare` creates the
            table with it if there is none. An existing table may have other widths (`int32` for
            `int`) and more columns, if those are nullable.
        row: Builds a row from key and value: an object of that type, or a mapping by column; None
            skips the result.
        partition_by: The partition columns of a new table: texts, integers, bools or dates.
        new_columns: The policy for columns that the table lacks: `"fail"` at the start, or
            `"add"` them to the table, where existing rows have nulls.
        options: Storage options of deltalake, such as `{"region": "eu-central-1"}`; logs and errors
            do not show them.
        give_up_after: The maximum time to retry while the storage does not answer.

    Raises:
        ValueError: The URI contains a password, or the columns of `rows` are not supported.

    Source: the `txnAppId` and `txnVersion` options of Delta's Spark writer, with one id per task.
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
        """Return a text without the function and the options."""
        columns = tuple(self._schema.names)
        return f"DeltaTable({self.uri!r}, {columns!r}, partition_by={self.partition_by!r})"

    @property
    @override
    def label(self) -> str:
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
        raise ValueError(
            "the uri has a password or a query: pass the storage's secrets in options="
        )
    if not uri:
        raise ValueError("the uri of the DeltaTable is empty: expected a directory or a URL")
    return uri if "://" in uri else str(Path(uri).absolute())
