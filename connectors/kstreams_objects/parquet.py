"""Rows as a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from kstreams_objects.formats import Columns, Encoded, check_names

__all__ = ("Parquet",)

_FAULTS = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Parquet:
    """Parquet files of one schema.

    A row is refused that has a column which the schema does not have, a value that does not fit
    its column's type, or no value where the schema wants one (`nullable=False`).

    Args:
        schema: Of all files.
        compression: Of their columns.

    Raises:
        ValueError: The schema has no column, or one is named twice.
    """

    schema: pa.Schema
    compression: Literal["zstd", "snappy", "gzip", "none"] = "zstd"

    def __post_init__(self) -> None:
        names = self.schema.names
        if not names or len(set(names)) < len(names):
            raise ValueError(f"a file has columns, each named once: {names!r}")

    @property
    def extension(self) -> str:
        """`.parquet`."""
        return ".parquet"

    def encode(self, rows: Sequence[Columns]) -> Encoded:
        """Make a file; what does not fit is found by halves."""
        refused: dict[int, str] = {}
        good = self._tables(rows, 0, refused)
        if not good:
            return Encoded(None, refused)
        sink = pa.BufferOutputStream()
        pq.write_table(pa.concat_tables(good), sink, compression=self.compression)
        return Encoded(sink.getvalue().to_pybytes(), refused)

    def _tables(
        self, rows: Sequence[Columns], first: int, refused: dict[int, str]
    ) -> list[pa.Table]:
        if not rows:
            return []
        try:
            return [self._table(rows)]
        except _FAULTS as exc:
            if len(rows) == 1:
                refused[first] = f"{type(exc).__name__}: {exc}"
                return []
        half = len(rows) // 2
        left = self._tables(rows[:half], first, refused)
        return left + self._tables(rows[half:], first + half, refused)

    def _table(self, rows: Sequence[Columns]) -> pa.Table:
        for row in rows:
            check_names(row, self.schema.names)
        table = pa.Table.from_pylist([dict(row) for row in rows], schema=self.schema)
        for field, column in zip(self.schema, table.columns, strict=True):
            if not field.nullable and column.null_count:
                raise ValueError(f"column {field.name!r} has no value")
        return table
