"""Rows of a large segment in Parquet and back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kstreams.embedded import parquet_rows
from kstreams.embedded.rows import checked
from kstreams.raw_batch import STORED_SCHEMA
from tests.kstreams.embedded.sample_tables import rows as sample


def read(path: Path, table: pa.Table, start: int, stop: int) -> pa.Table:
    return parquet_rows.read(path, STORED_SCHEMA.names, table.num_rows, start, stop, None)


def test_only_row_groups_in_range_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_rows, "_ROW_GROUP_ROWS", 10)
    table = checked(sample(*range(35)), topic="t", partition=0)
    path = tmp_path / "x"
    path.write_bytes(parquet_rows.encode(table))
    read_groups: list[list[int]] = []
    real = pq.ParquetFile.read_row_groups

    def spy(file: pq.ParquetFile, groups: list[int], **options: object) -> pa.Table:
        read_groups.append(groups)
        return real(file, groups, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_groups", spy)
    for start, stop in [(0, 35), (12, 20), (19, 21), (30, 35), (5, 5)]:
        found = read(path, table, start, stop)
        assert found.to_pylist() == table.slice(start, stop - start).to_pylist()
    assert read_groups == [[0, 1, 2, 3], [1], [1, 2], [3], [0]]


def test_rows_without_headers_column_are_read_with_null_headers(tmp_path: Path) -> None:
    path = tmp_path / "x"
    table = checked(sample(1, 2), topic="t", partition=0)
    path.write_bytes(parquet_rows.encode(table.drop_columns(["headers"])))
    assert pq.read_schema(path).names == ["timestamp", "key", "value"]
    assert read(path, table, 0, 2).column("headers").to_pylist() == [None, None]
