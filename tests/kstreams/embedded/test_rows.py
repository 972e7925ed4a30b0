"""Rows of a segment in a file and back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.rows import COLUMNS, checked, decode, encode
from kstreams.embedded.segment import PARQUET, ROWS
from kstreams.embedded.small_rows import MOST_BYTES
from kstreams.errors.topics import RowsRefusedError
from kstreams.raw_batch import HEADERS_TYPE, INPUT_SCHEMA, STORED_SCHEMA
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


def write(path: Path, table: pa.Table) -> str:
    """Write rows in a file, and return the encoding."""
    encoding, data = encode(checked(table, topic="t", partition=0))
    path.write_bytes(data)
    return encoding


@given(st.lists(record, min_size=1, max_size=20), st.booleans(), st.data())
def test_encoded_record_rows_are_decoded_unchanged(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[tuple[object, ...]],
    is_large: bool,  # drawn by hypothesis
    data: st.DataObject,
) -> None:
    large = [(0, b"key", b"x" * MOST_BYTES, None)] if is_large else []
    table = table_of([*records, *large])
    start = data.draw(st.integers(0, table.num_rows))
    stop = data.draw(st.integers(start, table.num_rows))
    path = tmp_path_factory.mktemp("rows") / "x"
    encoding = write(path, table)
    assert encoding == (PARQUET if is_large else ROWS)
    found = decode(
        path,
        encoding=encoding,
        rows=table.num_rows,
        start=start,
        stop=stop,
        first_offset=7,
        columns=COLUMNS,
    )
    assert found.schema == INPUT_SCHEMA
    assert found["offset"].to_pylist() == list(range(7 + start, 7 + stop))
    expected = table.slice(start, stop - start).to_pylist()
    assert found.drop_columns(["offset"]).to_pylist() == expected


@pytest.mark.parametrize("count", [2, 10_000], ids=[ROWS, PARQUET])
def test_slice_of_table_is_encoded_without_rest_of_table(tmp_path: Path, count: int) -> None:
    table = checked(sample(*range(3 * count)), topic="t", partition=0)
    whole, part = tmp_path / "whole", tmp_path / "part"
    write(whole, table.slice(count, count).combine_chunks())
    write(part, table.slice(count, count))
    assert part.stat().st_size <= whole.stat().st_size


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
