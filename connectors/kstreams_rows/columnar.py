"""Conversion of rows to columns of a schema, without the rows that do not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

import pyarrow as pa

__all__ = ("Columns", "check_names", "columnar")

Columns: TypeAlias = Mapping[str, object]
"""Values of a row by column."""

_FAULTS = (pa.ArrowException, TypeError, ValueError, OverflowError)


def columnar(rows: Sequence[Columns], schema: pa.Schema) -> tuple[pa.Table, dict[int, str]]:
    """Return the valid rows as a table, and the reasons for the other rows, by row number.

    A row is invalid if it has a column that the schema lacks, a value that does not match its
    column's type, a time without a zone if the schema has one, or no value for a required column
    (`nullable=False`). Invalid rows are found by bisection.
    """
    refused: dict[int, str] = {}
    good = _tables(rows, schema, 0, refused)
    return pa.concat_tables(good) if good else schema.empty_table(), refused


def check_names(row: Columns, known: Sequence[str]) -> None:
    """Check that a row has only known columns.

    Raises:
        ValueError: The row has an unknown column.
    """
    for name in row:
        if name not in known:
            raise ValueError(f"unknown column {name!r}, expected only {', '.join(known)}")


def _tables(
    rows: Sequence[Columns], schema: pa.Schema, first: int, refused: dict[int, str]
) -> list[pa.Table]:
    if not rows:
        return []
    try:
        return [_table(rows, schema)]
    except _FAULTS as exc:
        if len(rows) == 1:
            refused[first] = f"{type(exc).__name__}: {exc}"
            return []
    half = len(rows) // 2
    left = _tables(rows[:half], schema, first, refused)
    return left + _tables(rows[half:], schema, first + half, refused)


def _table(rows: Sequence[Columns], schema: pa.Schema) -> pa.Table:
    names = set(schema.names)
    for row in rows:
        if not names.issuperset(row):
            check_names(row, schema.names)
    table = pa.Table.from_pylist(rows, schema=schema)
    for field, column in zip(schema, table.columns, strict=True):
        if not field.nullable and column.null_count:
            raise ValueError(f"column {field.name!r} needs a value, but the row has none")
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            _check_zones(field.name, rows)
    return table


def _check_zones(name: str, rows: Sequence[Columns]) -> None:
    for row in rows:
        value = row.get(name)
        if isinstance(value, datetime) and value.tzinfo is None:
            raise ValueError(f"column {name!r} has the time {value}, which has no time zone")
