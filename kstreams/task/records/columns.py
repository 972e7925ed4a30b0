"""Conversion between records and the columns of batch processors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import UnionType
from typing import Any, Union, get_args, get_origin

import pyarrow as pa

from kstreams.raw_batch import HEADERS_TYPE, headers_array, headers_of
from kstreams.record import Record
from kstreams.serde.objects import objects_of

__all__ = (
    "COLUMNS",
    "arrow_type_of",
    "concat",
    "rows_of",
    "table_of",
    "whole",
)

COLUMNS = ("key", "value", "timestamp", "partition", "offset", "headers")
"""The columns of `process_batch`, in this order."""

_TYPES: dict[object, pa.DataType] = {
    str: pa.string(),
    bytes: pa.binary(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    type(None): pa.null(),
}
_OPTIONAL = {"partition": pa.int32(), "offset": pa.int64(), "headers": HEADERS_TYPE}


def arrow_type_of(token: object) -> pa.DataType | None:
    """Return the column type of a Python type; None if the values determine it."""
    if get_origin(token) in (Union, UnionType):
        parts = [part for part in get_args(token) if part is not type(None)]
        return arrow_type_of(parts[0]) if len(parts) == 1 else None
    return _TYPES.get(token) if isinstance(token, type) else None


def table_of(
    records: Sequence[Record[Any, Any]], key: pa.DataType | None, value: pa.DataType | None
) -> pa.Table:
    """Convert records to a table; partition and offset are null.

    Raises:
        pa.ArrowException, TypeError, OverflowError: A field does not fit into its column.
    """
    count = len(records)
    columns = {
        "key": pa.array([record.key for record in records], key),
        "value": pa.array([record.value for record in records], value),
        "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
        "partition": pa.nulls(count, pa.int32()),
        "offset": pa.nulls(count, pa.int64()),
        "headers": headers_array([record.headers for record in records]),
    }
    return pa.table(columns)


def whole(table: pa.Table) -> pa.Table:
    """Convert a forwarded table to the columns `COLUMNS`; missing columns become null.

    Raises:
        pa.ArrowException, KeyError, ValueError: The table cannot be converted.
    """
    timestamps = table.column("timestamp").cast(pa.int64())
    if timestamps.null_count:
        raise ValueError(f"column timestamp has {timestamps.null_count} nulls")
    columns = {
        "key": table.column("key"),
        "value": table.column("value"),
        "timestamp": timestamps,
    }
    for name, kind in _OPTIONAL.items():
        has = name in table.column_names
        columns[name] = table.column(name).cast(kind) if has else pa.nulls(table.num_rows, kind)
    return pa.table(columns)


def concat(tables: Sequence[pa.Table]) -> pa.Table:
    """Concatenate tables; number columns of different width get the wider type."""
    if len(tables) == 1:
        return tables[0]
    return pa.concat_tables(tables, promote_options="permissive")


def rows_of(table: pa.Table) -> Iterator[Record[Any, Any]]:
    """Yield the rows of a table as records."""
    columns = [objects_of(table.column(name)) for name in ("key", "value", "timestamp")]
    return map(Record, *columns, headers_of(table.column("headers")))
