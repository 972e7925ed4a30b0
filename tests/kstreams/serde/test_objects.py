"""Conversion of Arrow columns to Python objects."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.serde.objects import objects_of

_COLUMNS = {
    "text": (pa.string(), st.text()),
    "bytes": (pa.binary(), st.binary()),
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "double": (pa.float64(), st.floats(allow_nan=False)),
    "bool": (pa.bool_(), st.booleans()),
    "list": (pa.list_(pa.int64()), st.lists(st.integers(0, 9))),
    "null": (pa.null(), st.none()),
}


@pytest.mark.parametrize("kind", _COLUMNS)
@given(data=st.data())
def test_objects_of_arrow_column_equal_its_to_pylist_values_and_types(
    kind: str, data: st.DataObject
) -> None:
    arrow_type, items = _COLUMNS[kind]
    values = data.draw(st.lists(st.none() | items))
    start = data.draw(st.integers(0, len(values)))
    column = pa.array(values, arrow_type)
    for form in (column[start:], pa.chunked_array([column[:start], column[start:]], arrow_type)):
        expected = form.to_pylist()
        found: list[Any] = objects_of(form)
        assert found == expected
        assert list(map(type, found)) == list(map(type, expected))
