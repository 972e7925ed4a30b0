"""Data files of a Delta table and their log entries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kstreams.app import SystemClock
from kstreams.errors import SinkError
from kstreams_delta.schema import columns_of
from kstreams_delta.sdk import AddAction, deltalake
from kstreams_delta.storage import DeltaFiles
from kstreams_rows.columnar import Columns
from kstreams_rows.staging import Attempt
from kstreams_rows.table_writer import DataFiles

__all__ = ("DeltaFormat", "add_action")

_CLOCK = SystemClock()
_ROW = "\0row"  # no column's name
_SHOWN = 32
"""The maximum characters of a text in a file's statistics; longer texts are omitted."""


class DeltaFormat:
    """The format of a Delta table's data files, as a worker uses it.

    Args:
        table: The table.
        files: The storage of the table's files.
    """

    place = "Delta"

    def __init__(self, table: deltalake.DeltaTable, files: DeltaFiles) -> None:
        self.schema = columns_of(table)
        self.files = files
        self._partitions = tuple(table.metadata().partition_columns)

    def check(self, row: Columns) -> None:
        """Reject an empty text as a partition value, because Delta would read it back as null."""
        for name in self._partitions:
            if row.get(name) == "":
                raise ValueError(
                    f"partition column {name!r} is an empty text, which Delta reads as null"
                )

    def data_files(self, rows: pa.Table, attempt: Attempt) -> DataFiles:
        """Return one file per partition with its rows, without the partition columns."""
        data: dict[str, bytes] = {}
        entries: list[str] = []
        for number, (values, part) in enumerate(_divided(rows, self._partitions)):
            name = f"{attempt.lane}-{attempt.name}-{number:05d}.parquet"
            own = part.drop_columns(list(self._partitions))
            data[name] = _parquet(own)
            entries.append(_entry(name, len(data[name]), values, own))
        return DataFiles(data, tuple(entries))


def _parquet(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


def _entry(name: str, size: int, values: Mapping[str, str | None], rows: pa.Table) -> str:
    return json.dumps(
        {
            "path": name,
            "size": size,
            "partition_values": values,
            "modification_time": _CLOCK.now_ms(),
            "stats": json.dumps(_statistics(rows)),
        }
    )


def add_action(entry: str) -> AddAction:
    """Return the `add` action of a staged file for Delta's log.

    Args:
        entry: The JSON text of the action, which the writer of the file has put into its receipt.

    Raises:
        SinkError: The text was not written by this sink.
    """
    try:
        return AddAction(**json.loads(entry), data_change=True)
    except (TypeError, ValueError):
        raise SinkError(
            f"the checkpoint has {entry[:80]!r} where a Delta data file was expected",
            hint="a different sink with this node name wrote the checkpoint: rename this node.",
        ) from None


def _divided(
    rows: pa.Table, names: Sequence[str]
) -> list[tuple[Mapping[str, str | None], pa.Table]]:
    """Return each partition: its values in the text form of Delta's log, and its rows in order."""
    if not names:
        return [({}, rows)]
    index = pa.array(range(rows.num_rows), pa.int64())
    keys = rows.select(list(names)).append_column(_ROW, index)
    groups = keys.group_by(list(names), use_threads=False).aggregate([(_ROW, "list")])
    return [
        (
            {name: _text(group[name]) for name in names},
            rows.take(pa.array(group[f"{_ROW}_list"], pa.int64())),
        )
        for group in groups.to_pylist()
    ]


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case date():
            return value.isoformat()
        case _:
            return str(value)


def _statistics(rows: pa.Table) -> Mapping[str, object]:
    """Return statistics of integers, dates and short texts, by which readers skip files."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for field, column in zip(rows.schema, rows.columns, strict=True):
        if pa.types.is_nested(field.type):
            continue
        nulls[field.name] = column.null_count
        if pa.types.is_integer(field.type) or pa.types.is_date(field.type) or _is_text(field.type):
            found = pc.min_max(column).as_py()
            bounds = (found["min"], found["max"])
            if None not in bounds and all(len(str(each)) <= _SHOWN for each in bounds):
                least[field.name], most[field.name] = map(_shown, bounds)
    return {
        "numRecords": rows.num_rows,
        "minValues": least,
        "maxValues": most,
        "nullCount": nulls,
    }


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def _shown(value: object) -> object:
    return value.isoformat() if isinstance(value, date) else value
