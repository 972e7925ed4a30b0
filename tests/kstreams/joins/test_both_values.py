"""Functions that are called for the new and the old values of changes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from kstreams.errors import ProcessingError
from kstreams.joins.columns.both_values import both, called_for_both, there
from kstreams.serde.objects import object_column

CHANGES = pa.table({"key": ["a", "b", "c"], "timestamp": [1, 2, 3]})


def test_derived_table_function_is_called_for_new_then_old_value_of_each_change() -> None:
    called: list[Any] = []

    def function(value: list[int]) -> list[int]:
        called.append(value)
        return [*value, 0]

    values = both(object_column([[1], None, [3]]), object_column([[4], [5], None]))
    found = called_for_both(function, CHANGES, there(values), values)
    assert called == [[1], [4], [5], [3]]
    assert found == ([[1, 0], None, [3, 0]], [[4, 0], [5, 0], None])


@pytest.mark.parametrize(("bad", "key"), [(1, "a"), (4, "a"), (5, "b"), (3, "c")])
def test_error_of_function_that_fails_on_value_names_key_of_change(bad: int, key: str) -> None:
    def function(value: int) -> int:
        if value == bad:
            raise ValueError(value)
        return value

    values = both(object_column([1, None, 3]), object_column([4, 5, None]))
    with pytest.raises(ProcessingError) as failed:
        called_for_both(function, CHANGES, there(values), values)
    assert failed.value.where.key == key
