"""Reads a Delta table with its own library."""

from __future__ import annotations

from typing import Any

import deltalake
import pyarrow as pa

__all__ = ("rows_of",)


def rows_of(uri: str, options: dict[str, str] | None = None) -> list[dict[str, Any]]:
    """Return a table's rows; none if there is no table."""
    if not deltalake.DeltaTable.is_deltatable(uri, options):
        return []
    found = pa.table(deltalake.DeltaTable(uri, storage_options=options).scan())
    rows: list[dict[str, Any]] = found.to_pylist()
    return rows
