"""Rows as a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
from typing_extensions import override

from kstreams_objects.formats import Columns, Encoded, FileFormat
from kstreams_rows.columnar import columnar

__all__ = ("Parquet",)


@dataclass(frozen=True)
class Parquet(FileFormat):
    """Parquet files with one schema.

    A row is rejected if it has a column that the schema lacks, a value that does not fit its
    column's type, a time without a zone where the schema has one, or no value for a column that is
    not nullable.

    Args:
        schema: The schema of all files.
        compression: The compression of the columns.

    Raises:
        ValueError: The schema has no column, or a column is named twice.
    """

    schema: pa.Schema
    compression: Literal["zstd", "snappy", "gzip", "none"] = "zstd"

    def __post_init__(self) -> None:
        names = self.schema.names
        if not names or len(set(names)) < len(names):
            raise ValueError(
                f"expected a schema with one or more columns of distinct names, got {names!r}"
            )

    @property
    def extension(self) -> str:
        """`.parquet`."""
        return ".parquet"

    @override
    def encode(self, rows: Sequence[Columns]) -> Encoded:
        table, refused = columnar(rows, self.schema)
        if not table.num_rows:
            return Encoded(None, refused)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression=self.compression)
        return Encoded(sink.getvalue().to_pybytes(), refused)
