"""Columns of objects that have no Arrow type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams.serde.object_columns import ObjectColumns, lazy_parts, refers_to_objects
from kstreams.serde.objects import object_column, objects_of

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "lists": st.lists(st.integers(0, 3), max_size=2),
    "mixed": st.integers(0, 3) | st.text(max_size=2),
    "large": st.integers(2**63, 2**65),
    "text": st.text(max_size=3),
    "numbers": st.integers(-3, 3),
}


@st.composite
def rows_of(draw: st.DrawFn, count: int) -> list[int]:
    """Draw row numbers, consecutive or arbitrary."""
    if not count:
        return []
    first = draw(st.integers(0, count))
    some = st.lists(st.integers(0, count - 1), max_size=6)
    return draw(st.just(list(range(first, count))) | some)


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_take_of_object_column_selects_rows_without_touching_objects(
    kind: str, data: st.DataObject
) -> None:
    values = data.draw(st.lists(st.none() | VALUES[kind]))
    rows = data.draw(rows_of(len(values)))
    held = ObjectColumns()
    column = held.column(values)
    assert objects_of(column) == values
    assert objects_of(column.take(pa.array(rows, pa.int64()))) == [values[row] for row in rows]


@given(st.data())
def test_objects_of_column_are_created_on_access(data: st.DataObject) -> None:
    pairs = data.draw(st.lists(st.tuples(st.none() | st.integers(), st.none() | st.text())))
    rows = data.draw(rows_of(len(pairs)))
    made: list[Any] = []

    def make(one: int | None, other: str | None) -> str:
        made.append(one)
        return f"{one}+{other}"

    held = ObjectColumns()
    column = held.lazy_column(make, [one for one, _ in pairs], [other for _, other in pairs])
    taken = pa.chunked_array([column.take(pa.array(rows, pa.int64()))], column.type)
    assert refers_to_objects(taken.type)
    some = [pairs[row] for row in rows]
    assert lazy_parts(taken) == ([one for one, _ in some], [other for _, other in some])
    assert not made
    assert objects_of(taken) == [f"{one}+{other}" for one, other in some]


def test_object_column_that_was_not_made_of_parts_has_no_parts() -> None:
    held = ObjectColumns()
    for values in (["a"], [["a"]], [None]):
        assert lazy_parts(pa.chunked_array([held.column(values)])) is None


def test_object_column_of_sequences_has_one_object_per_row() -> None:
    found = object_column([[1, 2], [3, 4]])
    assert found.shape == (2,)
    assert found.tolist() == [[1, 2], [3, 4]]
