"""Columns of numbers as bytes with the same order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kstreams.serde.binary import read_times, sortable_column, sortable_times
from kstreams.serde.composite import sortable_int64

_TIMES = st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20)


@given(_TIMES)
def test_sortable_times_of_column_equal_sortable_int64_of_each_time(times: list[int]) -> None:
    column = np.array(times, np.int64)
    expected = [sortable_int64(time) for time in times]
    assert sortable_times(column).tobytes() == b"".join(expected)
    assert sortable_column(column).to_pylist() == expected
    assert sorted(expected) == [sortable_int64(time) for time in sorted(times)]


@given(_TIMES)
def test_written_times_are_read_unchanged(times: list[int]) -> None:
    assert read_times(sortable_times(np.array(times, np.int64)).tobytes()).tolist() == times
