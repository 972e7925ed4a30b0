"""`min_` and `max_` of doubles: columns keep the same bits as records."""

from __future__ import annotations

import math
import struct
from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import DOUBLE
from kstreams.aggregators import max_, min_
from kstreams.aggregators.columns.form import ColumnForm, column_form
from kstreams.aggregators.extreme import Extreme
from kstreams.columns.runs import Runs
from kstreams.columns.values import ValueColumn

VALUES = st.sampled_from([0.0, -0.0, 1.0, -1.0, math.nan])
RUNS = st.lists(st.lists(VALUES, min_size=1, max_size=20), min_size=1, max_size=20)


def bits(values: Any) -> list[bytes]:
    """Return the bits of doubles; all NaN are alike."""
    return [b"nan" if math.isnan(each) else struct.pack(">d", each) for each in values]


def lifted(aggregator: Extreme[float], given: list[list[float]]) -> tuple[ColumnForm, Any, Runs]:
    """Return the column form, the states of all values, and the runs of the values."""
    form = column_form(aggregator, DOUBLE)
    assert form is not None
    flat = [value for run in given for value in run]
    firsts = np.cumsum([0, *map(len, given)])[:-1]
    state = form.lift(ValueColumn(pa.array(flat), DOUBLE), np.zeros(len(flat), np.int64))
    return form, state, Runs(firsts, len(flat))


@pytest.mark.parametrize("make", [min_, max_])
@given(RUNS)
def test_states_of_doubles_by_columns_equal_those_by_records_to_the_last_bit(
    make: Any, given: list[list[float]]
) -> None:
    aggregator = make(DOUBLE)
    form, state, runs = lifted(aggregator, given)
    (found,) = form.reduce(state, runs)
    assert bits(found) == bits(reduce(aggregator.merge, run) for run in given)
    (each,) = form.scan(state, runs)
    assert bits(each) == bits(value for run in given for value in accumulate(run, aggregator.merge))


@pytest.mark.parametrize("make", [min_, max_])
@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=40))
def test_merge_of_equal_doubles_keeps_the_earlier_one(
    make: Any, pairs: list[tuple[float, float]]
) -> None:
    aggregator = make(DOUBLE)
    form, _, _ = lifted(aggregator, [[1.0]])
    earlier, later = (np.array(each) for each in zip(*pairs, strict=True))
    (found,) = form.merge((earlier,), (later,))
    assert bits(found) == bits(aggregator.merge(*pair) for pair in pairs)
