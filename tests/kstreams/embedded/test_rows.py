"""Rows of a segment in Parquet and back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.embedded import rows
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.rows import COLUMNS, checked, decode, encode
from kstreams.errors.topics import RowsRefusedError
from kstreams.raw_batch import HEADERS_TYPE, STORED_SCHEMA
from tests.kstreams.embedded.sample_tables import rows as sample

record = st.tuples(
    st.integers(0, 2**62),
    st.none() | st.binary(max_size=20),
    st.none() | st.binary(max_size=20),
    st.none() | st.lists(st.tuples(st.text(), st.none() | st.binary()), max_size=3),
)


def table_of(records: list[tuple[object, ...]]) -> pa.Table:
    columns = zip(*records, strict=True)
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, STORED_SCHEMA, strict=True)],
        schema=STORED_SCHEMA,
    )


def read(path: Path, table: pa.Table, start: int = 0, stop: int | None = None) -> pa.Table:
    count = table.num_rows
    return decode(
        path,
        rows=count,
        start=start,
        stop=count if stop is None else stop,
        first_offset=0,
        columns=STORED_SCHEMA.names,
    )


@given(st.lists(record, min_size=1, max_size=20), st.data())
def test_encoded_record_rows_are_decoded_unchanged(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[object, ...]], data: st.DataObject
) -> None:
    table = table_of(records)
    start = data.draw(st.integers(0, len(records)))
    stop = data.draw(st.integers(start, len(records)))
    path = tmp_path_factory.mktemp("rows") / "x"
    path.write_bytes(encode(checked(table, topic="t", partition=0)))
    assert (
        read(path, table, start, stop).to_pylist() == table.slice(start, stop - start).to_pylist()
    )


def test_only_row_groups_in_range_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "_ROW_GROUP_ROWS", 10)
    table = checked(sample(*range(35)), topic="t", partition=0)
    path = tmp_path / "x"
    path.write_bytes(encode(table))
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


def test_rows_without_headers_are_stored_without_headers_column(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(encode(checked(sample(1, 2), topic="t", partition=0)))
    assert pq.read_schema(path).names == ["timestamp", "key", "value"]
    assert read(path, sample(1, 2)).column("headers").to_pylist() == [None, None]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"timestamp": pa.array([1, -1])}, "-1 ms is negative", id="negative"),
        pytest.param({"timestamp": pa.array([1, None])}, "1 rows have no timestamp", id="null"),
        pytest.param({"timestamp": pa.array([1.0, 2.0])}, "are double", id="float"),
        pytest.param(
            {"timestamp": pa.array([1, 2], pa.timestamp("us"))}, r"are timestamp\[us\]", id="unit"
        ),
        pytest.param({"key": pa.array([1, 2])}, "types of a topic", id="key type"),
        pytest.param({"header": pa.nulls(2)}, "columns are", id="unknown column"),
    ],
)
def test_rows_of_wrong_types_are_rejected_with_column_name(
    tmp_path: Path, change: dict[str, pa.Array], message: str
) -> None:
    columns = {name: sample(1, 2).column(name) for name in ("timestamp", "key", "value")}
    log = EmbeddedLog(tmp_path)
    log.create("orders", 2)
    with pytest.raises(RowsRefusedError, match=message) as caught:
        log.append("orders", 1, pa.table({**columns, **change}), producer="p", batch=0)
    assert (caught.value.where.topic, caught.value.where.partition) == ("orders", 1)
    assert log.segments("orders", 1) == ()


def test_missing_columns_and_rows_are_rejected() -> None:
    with pytest.raises(RowsRefusedError, match="columns are timestamp, key,"):
        checked(sample(1).drop_columns(["value"]), topic="t", partition=0)
    with pytest.raises(RowsRefusedError, match="no rows"):
        checked(sample(), topic="t", partition=0)


@pytest.mark.parametrize("kind", [pa.large_binary(), pa.string(), pa.null()])
def test_encoding_accepts_other_binary_types(kind: pa.DataType) -> None:
    value = None if kind == pa.null() else ("é" if kind == pa.string() else b"\xc3\xa9")
    table = pa.table(
        {
            "timestamp": pa.array([1], pa.int32()),
            "key": pa.array([value], kind),
            "value": pa.array([value], kind),
            "headers": pa.array([[("h", b"x")]], HEADERS_TYPE),
        }
    )
    expected = None if value is None else b"\xc3\xa9"
    found = checked(table, topic="t", partition=0)
    assert found.schema == STORED_SCHEMA
    assert found.to_pylist() == [
        {
            "timestamp": 1,
            "key": expected,
            "value": expected,
            "headers": [{"key": "h", "value": b"x"}],
        }
    ]


def test_read_returns_requested_columns_in_order(tmp_path: Path) -> None:
    log = EmbeddedLog(tmp_path)
    log.create("t", 1)
    segment = log.append("t", 0, sample(7, 8), producer="p", batch=0)
    assert log.read(segment).column_names == list(COLUMNS)
    assert log.read(segment, 1, columns=("value", "offset")).to_pylist() == [
        {"value": b"8", "offset": 1}
    ]
    assert log.read(segment, columns=()).num_columns == 0
    with pytest.raises(ValueError, match=r"unknown columns \['val'\]"):
        log.read(segment, columns=("val",))
