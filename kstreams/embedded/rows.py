"""The rows of a segment: their columns, and their encoding in a file.

Small segments are Arrow record batches (`small_rows.py`), which take a tenth of the time of Parquet
to write and to read. Large segments are Parquet files (`parquet_rows.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from kstreams.embedded import parquet_rows, small_rows
from kstreams.embedded.segment import PARQUET, ROWS
from kstreams.errors import RowsRefusedError, Where
from kstreams.raw_batch import INPUT_SCHEMA, STORED_SCHEMA

__all__ = (
    "COLUMNS",
    "checked",
    "decode",
    "encode",
    "max_timestamp",
    "stored_bytes",
)

COLUMNS = tuple(INPUT_SCHEMA.names)
"""Columns that can be read; `offset` is not stored, but computed from the first offset."""

_HEADERS = STORED_SCHEMA.field("headers").type


def checked(table: pa.Table, *, topic: str, partition: int) -> pa.Table:
    """Convert rows to `STORED_SCHEMA`, or raise an error.

    Args:
        table: Columns `timestamp` (whole numbers, milliseconds since the epoch, not null, not
            negative), `key` and `value` (binary or string, null allowed), and `headers` if any row
            has headers.
        topic: Name of the topic, for errors.
        partition: Number of the partition, for errors.

    Raises:
        RowsRefusedError: No rows, a column too many, too few or of another type, or a
            negative or missing timestamp.
    """
    where = Where(topic=topic, partition=partition)
    names = table.column_names
    if sorted(names) not in (
        ["key", "timestamp", "value"],
        sorted(STORED_SCHEMA.names),
    ):
        raise RowsRefusedError(
            f"columns are {', '.join(names) or 'none'}, expected key, value, timestamp and, "
            "if any row has them, headers",
            where=where,
        )
    if not table.num_rows:
        raise RowsRefusedError("no rows to append", hint="Skip empty batches.", where=where)
    if not pa.types.is_integer(table.schema.field("timestamp").type):
        raise RowsRefusedError(
            f"timestamps are {table.schema.field('timestamp').type}, expected int64 milliseconds",
            where=where,
        )
    if "headers" not in names:
        table = table.append_column("headers", pa.nulls(table.num_rows, _HEADERS))
    _check_timestamps(table.column("timestamp"), where)
    table = table.select(STORED_SCHEMA.names)
    if table.schema.equals(STORED_SCHEMA):
        return table
    try:
        return table.cast(STORED_SCHEMA)
    except (pa.ArrowException, ValueError) as exc:
        raise RowsRefusedError(
            f"the columns do not convert to the types of a topic: {exc}", where=where
        ) from exc


def _check_timestamps(column: pa.ChunkedArray, where: Where) -> None:
    if column.null_count:
        raise RowsRefusedError(f"{column.null_count} rows have no timestamp", where=where)
    least = int(column.to_numpy().min())
    if least < 0:
        raise RowsRefusedError(
            f"timestamp {least} ms is negative",
            hint="Event times count from 1970 on; give the record a later time.",
            where=where,
        )


def max_timestamp(table: pa.Table) -> int:
    """Return the greatest timestamp of checked rows, milliseconds since the epoch."""
    return int(table.column("timestamp").to_numpy().max())


def encode(table: pa.Table) -> tuple[str, pa.Buffer]:
    """Return the encoding of checked rows, `PARQUET` or `ROWS`, and the content of their file.

    The file has no `headers` if no row has headers.
    """
    if table.column("headers").null_count == table.num_rows:
        table = table.drop_columns(["headers"])
    if table.nbytes <= small_rows.MOST_BYTES:
        return ROWS, small_rows.encode(table)
    return PARQUET, parquet_rows.encode(table)


def stored_bytes(path: Path, encoding: str) -> int:
    """Return the approximate number of bytes of a segment's rows in memory.

    Raises:
        OSError: The file cannot be opened.
        ValueError: The file does not have the encoding.
    """
    if encoding == ROWS:
        return small_rows.stored_bytes(path)
    return parquet_rows.stored_bytes(path)


def decode(
    path: Path,
    *,
    encoding: str,
    rows: int,
    start: int,
    stop: int,
    first_offset: int,
    columns: Sequence[str],
    max_bytes: int | None = None,
) -> pa.Table:
    """Read rows `start` to `stop` of a segment's file, with the requested columns only.

    Args:
        path: The segment's file.
        encoding: `PARQUET` or `ROWS`.
        rows: Number of rows that the file must have.
        start: First row, from 0.
        stop: Exclusive end row, at most `rows`.
        first_offset: Offset of row 0.
        columns: Some of `COLUMNS`; the result has them in this order, with the types of
            `INPUT_SCHEMA`.
        max_bytes: Stop soon after the rows exceed this size. A small segment is read whole.

    Raises:
        OSError: The file cannot be opened.
        ValueError: The file does not have the encoding or this number of rows, or a checksum is
            wrong.
    """
    stored = [name for name in columns if name != "offset"]
    if not stored:
        table = None
    elif encoding == ROWS:
        table = small_rows.read(path, rows).slice(start, stop - start)
    else:
        table = parquet_rows.read(path, stored, rows, start, stop, max_bytes)
        stop = start + table.num_rows
    arrays = [
        pa.chunked_array([np.arange(first_offset + start, first_offset + stop, dtype=np.int64)])
        if name == "offset" or table is None
        else table.column(name)
        for name in columns
    ]
    return pa.table(arrays, schema=pa.schema([INPUT_SCHEMA.field(name) for name in columns]))
