"""Ranges of rows are merged as if row by row, in order."""

from __future__ import annotations

from functools import reduce

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kstreams.columns.ranges import merged_ranges
from kstreams.serde.layout import Columns


class Edges:
    """A merge of first row, last row and sum that depends on the order of rows."""

    def merge(self, earlier: Columns, later: Columns) -> Columns:
        return earlier[0], later[1], earlier[2] + later[2]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    numbers = draw(st.lists(st.integers(-9, 9), min_size=1, max_size=40))
    bound = st.integers(0, len(numbers))
    pairs = st.tuples(bound, bound).filter(lambda pair: pair[0] < pair[1])
    return numbers, draw(st.lists(pairs, max_size=12))


@given(cases())
def test_merge_of_each_row_range_equals_merge_of_its_single_rows(
    case: tuple[list[int], list[tuple[int, int]]],
) -> None:
    numbers, ranges = case
    column = np.array(numbers, np.int64)
    lows, highs = (np.array([pair[n] for pair in ranges], np.int64) for n in (0, 1))
    found = merged_ranges(Edges(), (column, column, column), lows, highs)
    expected = [(numbers[a], numbers[b - 1], sum(numbers[a:b])) for a, b in ranges]
    assert list(zip(*(part.tolist() for part in found), strict=True)) == expected


def test_merged_ranges_of_sums_may_exceed_int64() -> None:
    class Sum:
        def merge(self, earlier: Columns, later: Columns) -> Columns:
            return (earlier[0].astype(object) + later[0].astype(object),)

    column = np.full(5, (1 << 63) - 1)
    found = merged_ranges(Sum(), (column,), np.array([0, 1]), np.array([5, 2]))
    assert found[0].tolist() == [reduce(int.__add__, column.tolist()), (1 << 63) - 1]
