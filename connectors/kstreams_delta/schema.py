"""The schema of a Delta table, and the check that the sink can write to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pyarrow as pa

from kstreams.errors import SinkError
from kstreams_delta.sdk import deltalake
from kstreams_rows.column_types import check_columns, missing_columns

__all__ = ("add_missing", "check", "check_partitions", "columns_of")

_PARTITIONS = (pa.types.is_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_date)
_CHECKS = ("delta.constraints.", "delta.columnMapping.mode")
_FIELD_CHECKS = ("delta.generationExpression", "delta.invariants", "delta.identity.")


def columns_of(table: deltalake.DeltaTable) -> pa.Schema:
    """Return the columns of a table."""
    return pa.schema(table.schema().to_arrow())


def check_partitions(rows: pa.Schema, names: Sequence[str]) -> None:
    """Check that rows can be partitioned by columns.

    Raises:
        ValueError: A column does not exist or is not a text, integer, bool or date, or no other
            columns are left.
    """
    for name in names:
        if name not in rows.names:
            known = ", ".join(rows.names)
            raise ValueError(
                f"partition_by= names {name!r}, but rows= has only the columns {known}"
            )
        if not any(kind(rows.field(name).type) for kind in _PARTITIONS):
            raise ValueError(
                f"partition_by= names {name!r} of type {rows.field(name).type}; expected a text, "
                "integer, bool or date"
            )
    if len(set(names)) >= len(rows.names):
        raise ValueError("partition_by= names all columns of rows=: leave at least one out")


def add_missing(table: deltalake.DeltaTable, rows: pa.Schema) -> None:
    """Add the columns that rows have and the table lacks; existing rows have nulls there."""
    missing = missing_columns(rows, columns_of(table))
    if missing:
        schema = deltalake.Schema.from_arrow(pa.schema([f.with_nullable(True) for f in missing]))
        table.alter.add_columns(schema.fields)
        table.update_incremental()


def check(table: deltalake.DeltaTable, rows: pa.Schema, partitions: Sequence[str]) -> None:
    """Check that a table can store rows, and requires no features that the sink lacks.

    Args:
        table: The table.
        rows: The columns of the rows.
        partitions: The expected partition columns; empty for any.

    Raises:
        SinkError: The table does not match.
    """
    found = table.metadata()
    name = table.table_uri
    if partitions and tuple(partitions) != tuple(found.partition_columns):
        raise SinkError(
            f"table {name} is partitioned by {tuple(found.partition_columns)}, not by "
            f"partition_by={tuple(partitions)}",
            hint="correct partition_by=, or leave it out to use the partitions of the table.",
        )
    _check_features(found.configuration, table)
    check_columns(rows, columns_of(table), name)
    for column in found.partition_columns:
        if not any(kind(columns_of(table).field(column).type) for kind in _PARTITIONS):
            raise SinkError(
                f"table {name} is partitioned by {column!r}, which is not text, an "
                "integer, a bool or a date",
                hint="write to a table with other partition columns.",
            )


def _check_features(configuration: Mapping[str, str], table: deltalake.DeltaTable) -> None:
    asked = [
        key for key, value in configuration.items() if key.startswith(_CHECKS) and value != "none"
    ]
    for field in json.loads(table.schema().to_json())["fields"]:
        asked += [key for key in field.get("metadata", {}) if key.startswith(_FIELD_CHECKS)]
    if asked:
        raise SinkError(
            f"table {table.table_uri} requires writer features that the sink lacks: "
            f"{', '.join(sorted(asked))}",
            hint="write to a table without these features, and copy from there.",
        )
