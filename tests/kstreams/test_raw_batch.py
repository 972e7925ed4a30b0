"""Batches of raw records: headers as columns, and rows grouped by topic and partition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.partitioner import Murmur2Partitioner
from kstreams.raw_batch import (
    HEADERS_TYPE,
    INPUT_SCHEMA,
    OUTPUT_SCHEMA,
    STORED_SCHEMA,
    by_partition,
    by_topic,
    header_pairs,
    headers_array,
    headers_of,
    named_headers,
    parted,
)

_HEADERS = st.lists(
    st.tuples(st.text(max_size=2), st.none() | st.binary(max_size=2)), max_size=3
).map(tuple)


@given(st.lists(_HEADERS), st.integers(0, 4))
def test_headers_survive_conversion_to_column(headers: list[Any], start: int) -> None:
    column = headers_array(headers)
    assert column.type == HEADERS_TYPE
    assert headers_of(column) == headers
    assert headers_of(pa.chunked_array([column, column])[start:]) == (headers * 2)[start:]


@given(st.lists(_HEADERS), st.integers(0, 4))
def test_header_pairs_returns_row_number_of_each_header(headers: list[Any], start: int) -> None:
    column = headers_array(headers)[start:]
    rows, pairs = header_pairs(column)
    expected = [(row, *pair) for row, own in enumerate(headers[start:]) for pair in own]
    columns = rows.tolist(), pairs.field("key").to_pylist(), pairs.field("value").to_pylist()
    assert list(zip(*columns, strict=True)) == expected


def test_unreadable_headers_become_header_without_name() -> None:
    headers = [[(None, b"\xff")], None, [("a", b"1")]]
    column = headers_array(headers, check=False)
    assert [named_headers(own) for own in headers_of(column)] == [(), (), (("a", b"1"),)]
    with pytest.raises(TypeError, match="a header is a pair of text and bytes"):
        headers_array(headers)


@pytest.mark.parametrize("schema", [INPUT_SCHEMA, OUTPUT_SCHEMA, STORED_SCHEMA])
def test_raw_schemas_have_same_column_types(schema: pa.Schema) -> None:
    types = {name: schema.field(name).type for name in ("key", "value", "timestamp")}
    assert types == {"key": pa.binary(), "value": pa.binary(), "timestamp": pa.int64()}
    headers = headers_array([(("a", b"1"),), ()])
    assert headers.cast(schema.field("headers").type).to_pylist() == headers.to_pylist()


@given(st.lists(st.integers(0, 5) | st.integers(0, 100_000), max_size=60), st.booleans())
def test_each_partition_gets_its_rows_in_order(targets: list[int], chunked: bool) -> None:
    rows = list(range(len(targets)))
    table = pa.table({"row": pa.array(rows, pa.int64())})
    if chunked and len(rows) > 1:
        table = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    found = {
        target: part.column("row").to_pylist()
        for target, part in parted(table, np.array(targets, np.int32))
    }
    assert list(found) == sorted(set(targets))
    for target, own in found.items():
        assert own == [row for row in rows if targets[row] == target]


def test_each_topic_gets_its_rows_in_order() -> None:
    table = pa.table({"topic": ["b", "a", "b"], "row": [0, 1, 2]})
    found = {topic: rows.column("row").to_pylist() for topic, rows in by_topic(table)}
    assert found == {"b": [0, 2], "a": [1]}


def test_round_robin_of_null_keys_continues_in_next_piece() -> None:
    table = pa.table({"key": pa.nulls(2, pa.binary()), "row": [0, 1]})
    pieces = [dict(by_partition(table, Murmur2Partitioner(), 3, first=n)) for n in (0, 2)]
    found = [{n: rows.column("row").to_pylist() for n, rows in piece.items()} for piece in pieces]
    assert found == [{0: [0], 1: [1]}, {2: [0], 0: [1]}]
