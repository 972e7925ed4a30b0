"""Conversion between records and columns."""

from __future__ import annotations

from typing import Any, Optional

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import Record
from kstreams.task.records.columns import arrow_type_of, concat, rows_of, table_of, whole

_HEADERS = st.lists(
    st.tuples(st.text(max_size=2), st.none() | st.binary(max_size=2)), max_size=3
).map(tuple)


@given(
    st.lists(
        st.builds(Record, st.text(), st.none() | st.integers(0, 9), st.integers(0, 9), _HEADERS)
    )
)
def test_records_survive_conversion_to_columns(made: list[Record[Any, Any]]) -> None:
    table = table_of(made, pa.string(), pa.int64())
    assert list(rows_of(whole(table))) == made
    assert table.column("partition").null_count == len(made)


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (str, pa.string()),
        (bool, pa.bool_()),
        (type(None), pa.null()),
        (int | None, pa.int64()),
        (Optional[bytes], pa.binary()),  # noqa: UP045  # the other spelling
        (int | str, None),
        (object, None),
        (list[int], None),
        (dict, None),
    ],
    ids=str,
)
def test_column_type_is_derived_from_type_token(token: object, expected: object) -> None:
    assert arrow_type_of(token) == expected


def test_columns_missing_in_table_are_null() -> None:
    table = whole(pa.table({"value": [1], "key": ["a"], "timestamp": pa.array([5], pa.int32())}))
    assert table.to_pylist() == [
        {"key": "a", "value": 1, "timestamp": 5, "partition": None, "offset": None, "headers": None}
    ]


@pytest.mark.parametrize(
    "table",
    [{"key": ["a"], "value": [1]}, {"key": ["a"], "value": [1], "timestamp": [None]}],
    ids=["no timestamp column", "null timestamp"],
)
def test_record_table_without_timestamps_is_rejected(table: dict[str, Any]) -> None:
    with pytest.raises((KeyError, ValueError)):
        whole(pa.table(table))


def test_concatenated_number_columns_of_different_width_have_wider_type() -> None:
    narrow, wide = (pa.table({"x": pa.array([1], kind)}) for kind in (pa.int32(), pa.int64()))
    assert concat([narrow, wide]).schema.field("x").type == pa.int64()
