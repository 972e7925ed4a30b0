"""Numbering of keys, and reduction of a batch's changes by key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT
from kstreams.joins.columns.changes import Changes
from kstreams.joins.columns.ends import ends_of
from kstreams.joins.columns.key_numbers import KeyNumbers
from kstreams.serde.base import Serde
from kstreams.serde.object_columns import ObjectColumns
from kstreams.serde.objects import objects_of
from kstreams.windows.keys.windowed_type import WindowedType

KEYS: dict[str, tuple[Serde[Any], st.SearchStrategy[Any]]] = {
    "text": (TEXT, st.sampled_from("abc")),
    "numbers": (INT64, st.integers(0, 3)),
    "large numbers": (INT64, st.sampled_from([1, 2**62])),
    "objects": (TEXT, st.tuples(st.integers(0, 1), st.sampled_from("ab"))),
}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2), st.integers(0, 2)), min_size=1))
def test_key_numbers_of_windowed_keys_differ_exactly_for_different_keys(keys: list[Any]) -> None:
    kind = WindowedType(pa.string())
    column = kind.of(*(pa.array(list(field)) for field in zip(*keys, strict=True)))
    numbers = KeyNumbers.of(column)
    different = list(dict.fromkeys(keys))
    assert [different[code] for code in numbers.codes] == keys
    assert numbers.count == len(different)


@pytest.mark.parametrize("kind", KEYS)
@given(data=st.data())
def test_key_numbers_are_equal_exactly_for_equal_keys(kind: str, data: st.DataObject) -> None:
    keys = data.draw(st.lists(KEYS[kind][1], min_size=1))
    held = ObjectColumns()
    numbers = KeyNumbers.of(held.column(keys))
    different = list(dict.fromkeys(keys))
    assert [different[code] for code in numbers.codes] == keys
    assert numbers.count == len(different)
    assert numbers.are_different == (len(different) == len(keys))
    assert numbers.first.tolist() == [keys.index(key) for key in different]
    backwards = keys[::-1]
    assert numbers.last.tolist() == [len(keys) - 1 - backwards.index(key) for key in different]
    before = [
        max((n for n in range(row) if keys[n] == key), default=-1) for row, key in enumerate(keys)
    ]
    assert numbers.before.tolist() == before


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1), min_size=1))
def test_batch_changes_keep_first_old_value_and_last_new_value_of_each_key(
    batches: list[str],
) -> None:
    held, some, number = ObjectColumns(), [], 0
    expected: dict[str, tuple[int, int]] = {}
    for keys in batches:
        rows = range(number, number + len(keys))
        number += len(keys)
        for key, row in zip(keys, rows, strict=True):
            expected[key] = (expected.get(key, (row, row))[0], row)
        news, olds = [f"new {row}" for row in rows], [f"old {row}" for row in rows]
        some.append(Changes(held.column(list(keys)), news, olds, np.array(rows)))
    found = ends_of(some, TEXT, held)
    assert objects_of(found.keys) == list(expected)
    assert found.olds == [f"old {first}" for first, _ in expected.values()]
    assert found.news == [f"new {last}" for _, last in expected.values()]
    assert found.times.tolist() == [last for _, last in expected.values()]


def test_key_numbers_differ_for_equal_floats_of_different_bytes() -> None:
    held = ObjectColumns()
    changes = Changes(held.column([0.0, -0.0, 0.0]), [1, 2, 3], [4, 5, 6], np.array([7, 8, 9]))
    found = ends_of([changes], DOUBLE, held)
    assert list(map(str, objects_of(found.keys))) == ["0.0", "-0.0"]
    assert (found.news, found.olds, found.times.tolist()) == ([3, 2], [4, 5], [9, 8])
