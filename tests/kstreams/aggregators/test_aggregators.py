"""Every aggregator agrees with Python's own functions, in one state and in merged states."""

from __future__ import annotations

import math
import pickle
import statistics
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import INT64, TEXT
from kstreams.aggregators import (
    collect,
    combine,
    count,
    count_distinct,
    first,
    fold,
    last,
    max_,
    mean,
    min_,
    over,
    reducing,
    sum_,
    top_n,
    variance,
)
from kstreams.record import Record

Rows = list[tuple[int, int]]
"""Values and timestamps."""


def as_text(state: str, record: Record[Any, int]) -> str:
    return f"{state}{record.value},"


def half(value: int) -> int:
    return value // 2


def close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-6)


def values_of(rows: Rows) -> list[int]:
    return [value for value, _ in rows]


def sample_variance(rows: Rows) -> float:
    return statistics.variance(values_of(rows)) if len(rows) > 1 else float("nan")


CASES: dict[str, tuple[Any, Any]] = {
    "count": (count(), len),
    "sum": (sum_(INT64), lambda rows: sum(values_of(rows))),
    "min": (min_(INT64), lambda rows: min(values_of(rows))),
    "max": (max_(INT64), lambda rows: max(values_of(rows))),
    "mean": (mean(), lambda rows: statistics.fmean(values_of(rows))),
    "variance": (variance(), lambda rows: statistics.pvariance(values_of(rows))),
    "sample-variance": (variance(sample=True), sample_variance),
    "first": (first(INT64), lambda rows: min(rows, key=lambda row: row[1])[0]),
    "last": (last(INT64), lambda rows: max(reversed(rows), key=lambda row: row[1])[0]),
    "collect": (collect(INT64), lambda rows: tuple(values_of(rows))),
    "count-distinct": (count_distinct(INT64), lambda rows: len(set(values_of(rows)))),
    "top": (top_n(3, INT64), lambda rows: tuple(sorted(values_of(rows), reverse=True)[:3])),
    "top-by": (
        top_n(3, INT64, by=half),
        lambda rows: tuple(sorted(values_of(rows), key=half, reverse=True)[:3]),
    ),
    "reducing": (reducing(add, INT64), lambda rows: sum(values_of(rows))),
    "fold": (
        fold(TEXT, str, as_text, merge=add),
        lambda rows: "".join(f"{value}," for value in values_of(rows)),
    ),
    "over": (over(half, sum_(INT64)), lambda rows: sum(map(half, values_of(rows)))),
    "together": (
        combine(count(), max_(INT64), collect(INT64)),
        lambda rows: (len(rows), max(values_of(rows)), tuple(values_of(rows))),
    ),
    "named": (
        combine(dict, largest=max_(INT64), count=count(), all=collect(INT64)),
        lambda rows: {
            "largest": max(values_of(rows)),
            "count": len(rows),
            "all": tuple(values_of(rows)),
        },
    ),
}
cases = pytest.mark.parametrize("name", CASES)
rows_of = st.lists(st.tuples(st.integers(-1000, 1000), st.integers(0, 20)), min_size=1, max_size=12)


def state_of(aggregator: Any, rows: Rows) -> Any:
    records = [Record("k", value, time) for value, time in rows]
    return reduce(aggregator.add, records[1:], aggregator.init(records[0]))


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, (int, float)):
        return (math.isnan(one) and math.isnan(other)) or close(one, other)
    return bool(one == other)


@cases
@given(rows=rows_of)
def test_aggregator_result_equals_python_expression(name: str, rows: Rows) -> None:
    aggregator, expected = CASES[name]
    assert same(aggregator.result(state_of(aggregator, rows)), expected(rows))


@cases
@given(rows=rows_of, cuts=st.sets(st.integers(1, 11), max_size=3))
def test_merged_states_give_same_result_as_one_state(name: str, rows: Rows, cuts: set[int]) -> None:
    aggregator, expected = CASES[name]
    rows = sorted(rows, key=lambda row: row[1])
    bounds = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    parts = [rows[low:high] for low, high in pairwise(bounds)]
    merged = reduce(aggregator.merge, [state_of(aggregator, part) for part in parts])
    assert same(aggregator.result(merged), expected(rows))


@cases
@given(rows=rows_of)
def test_aggregator_state_survives_serialization(name: str, rows: Rows) -> None:
    aggregator, _ = CASES[name]
    state = state_of(aggregator, rows)
    serde = aggregator.state
    assert serde.deserialize(serde.serialize(state)) == state
    assert serde.deserialize_many(serde.serialize_many([state, None])) == [state, None]


@cases
def test_aggregators_can_be_compared_and_pickled(name: str) -> None:
    aggregator, _ = CASES[name]
    copy = pickle.loads(pickle.dumps(aggregator))
    assert copy == aggregator
    assert copy.state == aggregator.state


def test_add_and_merge_leave_given_state_unchanged() -> None:
    for aggregator, _ in CASES.values():
        before = state_of(aggregator, [(1, 1)])
        data = aggregator.state.serialize(before)
        aggregator.add(before, Record("k", 2, 2))
        aggregator.merge(before, before)
        assert aggregator.state.serialize(before) == data


def test_count_ignores_value_of_record() -> None:
    class Unread(Record[Any, Any]):
        def __getattribute__(self, name: str) -> Any:
            if name == "value":
                raise AssertionError("the value was looked at")
            return super().__getattribute__(name)

    record = Unread("k", 1)
    aggregator = count()
    assert aggregator.add(aggregator.init(record), record) == 2


def test_top_n_rejects_zero() -> None:
    with pytest.raises(ValueError, match="expected 1"):
        top_n(0, INT64)


@pytest.mark.parametrize(("aggregator", "expected"), [(first(INT64), 1), (last(INT64), 3)])
def test_records_of_equal_time_are_ordered_by_arrival(aggregator: Any, expected: int) -> None:
    one, two, three = (Record("k", value, 5) for value in (1, 2, 3))
    state = aggregator.add(aggregator.add(aggregator.init(one), two), three)
    assert aggregator.result(state) == expected
    merged = aggregator.merge(aggregator.init(one), aggregator.init(three))
    assert aggregator.result(merged) == expected
