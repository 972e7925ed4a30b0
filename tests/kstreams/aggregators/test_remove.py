"""Invertible aggregators: a removed value leaves no trace in the state."""

from __future__ import annotations

import math
import pickle
from functools import reduce
from operator import add, sub
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT
from kstreams.aggregators import (
    approx_count_distinct,
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
from kstreams.aggregators.aggregator import is_invertible
from kstreams.aggregators.exact_sum import EXACT_SUM, NOTHING, ExactSum, unrounded
from kstreams.errors import DeserializationError, SerializationError
from kstreams.record import Record


def plus(state: int, record: Record[Any, int]) -> int:
    return state + record.value


def minus(state: int, record: Record[Any, int]) -> int:
    return state - record.value


def half(value: int) -> int:
    return value // 2


INVERTIBLE: dict[str, Any] = {
    "count": count(),
    "sum": sum_(INT64),
    "sum-of-doubles": sum_(DOUBLE),
    "mean": mean(),
    "variance": variance(),
    "sample-variance": variance(sample=True),
    "over": over(half, sum_(INT64)),
    "fold": fold(INT64, int, plus, merge=add, remove=minus),
    "reducing": reducing(add, INT64, remove=sub),
    "together": combine(count(), mean(), over(half, variance())),
}
OTHERS: dict[str, Any] = {
    "min": min_(INT64),
    "max": max_(INT64),
    "first": first(INT64),
    "last": last(INT64),
    "collect": collect(INT64),
    "distinct": count_distinct(INT64),
    "about": approx_count_distinct(INT64),
    "top": top_n(3, INT64),
    "over": over(half, max_(INT64)),
    "fold": fold(INT64, int, plus, merge=add),
    "reducing": reducing(add, INT64),
    "together": combine(count(), max_(INT64)),
}
doubles = st.floats(width=64)
finite = st.floats(allow_nan=False, allow_infinity=False)


def state_of(aggregator: Any, values: list[Any]) -> Any:
    records = [Record("k", value, 0) for value in values]
    return reduce(aggregator.add, records[1:], aggregator.init(records[0]))


def without(aggregator: Any, state: Any, values: list[Any]) -> Any:
    return reduce(aggregator.remove, (Record("k", value, 0) for value in values), state)


def same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or (one != one and other != other))


def about(one: Any, other: Any) -> bool:
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(about, one, other))
    return (one != one and other != other) or math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-3)


@pytest.mark.parametrize("name", INVERTIBLE)
@given(
    kept=st.lists(st.integers(-1000, 1000), min_size=1, max_size=6),
    gone=st.lists(st.integers(-1000, 1000), max_size=6),
)
def test_remove_of_added_value_restores_earlier_result(
    name: str, kept: list[int], gone: list[int]
) -> None:
    aggregator = INVERTIBLE[name]
    left = without(aggregator, state_of(aggregator, [*gone, *kept]), gone)
    assert about(aggregator.result(left), aggregator.result(state_of(aggregator, kept)))


@pytest.mark.parametrize("name", OTHERS)
def test_aggregators_without_remove_are_not_invertible(name: str) -> None:
    assert not is_invertible(OTHERS[name])
    assert not hasattr(OTHERS[name], "remove")
    assert all(map(is_invertible, INVERTIBLE.values()))


ROUNDING: dict[str, Any] = {
    "sum": sum_(DOUBLE),
    "mean": mean(),
    "variance": variance(),
    "over": over(float, mean()),
    "together": combine(count(), sum_(DOUBLE), variance()),
}


@pytest.mark.parametrize("name", ROUNDING)
@given(data=st.data(), values=st.lists(doubles, min_size=1, max_size=5))
def test_unrounded_aggregator_state_after_remove_equals_state_of_remaining_values(
    name: str, data: st.DataObject, values: list[float]
) -> None:
    exact = unrounded(ROUNDING[name])
    passing = data.draw(st.lists(doubles, max_size=5))
    order = data.draw(st.permutations([(1, each) for each in (*values, *passing)]))
    state = state_of(exact, [each for _, each in order])
    left = without(exact, state, passing)
    alone = state_of(exact, values)
    assert exact.state.serialize(left) == exact.state.serialize(alone)
    assert exact.state.deserialize(exact.state.serialize(left)) == left
    assert same(exact.result(left), exact.result(alone))
    nothing = without(exact, state_of(exact, passing[:1]), passing[:1]) if passing else left
    assert not passing or exact.merge(nothing, left) == left


@pytest.mark.parametrize("name", ROUNDING)
@given(values=st.lists(st.integers(-1000, 1000).map(float), min_size=1, max_size=8))
def test_result_of_unrounded_aggregator_is_a_state_of_the_rounded_aggregator(
    name: str, values: list[float]
) -> None:
    aggregator = ROUNDING[name]
    exact = unrounded(aggregator)
    state = exact.result(state_of(exact, values))
    assert aggregator.state.deserialize(aggregator.state.serialize(state)) == state
    expected = aggregator.result(state_of(aggregator, values))
    assert about(aggregator.result(state), expected)


def test_integer_aggregators_have_no_unrounded_form() -> None:
    assert unrounded(count()) is None
    assert unrounded(sum_(INT64)) is None
    assert unrounded(combine(count(), over(half, sum_(INT64)))) is None


@given(st.lists(finite, max_size=10))
@example([1e308, 1e308, -1e308, -1e308, 5e-324])
@example([0.1] * 10)
@example([-0.0])
def test_exact_sum_of_doubles_is_rounded_once(values: list[float]) -> None:
    total = reduce(ExactSum.plus, values, NOTHING)
    try:
        expected = math.fsum(values)
    except OverflowError:  # of a partial sum, or of the total
        expected = total.rounded()
    assert total.rounded() == expected
    assert math.copysign(1.0, total.rounded()) == 1.0 or total.rounded() < 0


def test_exact_sum_beyond_largest_double_is_infinite() -> None:
    twice = NOTHING.plus(1e308).plus(1e308)
    assert twice.rounded() == math.inf
    assert NOTHING.plus(-1e308).plus(-1e308).rounded() == -math.inf
    assert twice.plus(1e308, -1).rounded() == 1e308


def test_infinities_and_nans_can_be_removed() -> None:
    total = NOTHING.plus(1.5).plus(math.inf).plus(-math.inf).plus(math.nan)
    assert math.isnan(total.rounded())
    assert total.plus(math.nan, -1).plus(math.inf, -1).rounded() == -math.inf
    assert total.plus(math.nan, -1).plus(-math.inf, -1).rounded() == math.inf
    plain = total.plus(math.nan, -1).plus(math.inf, -1).plus(-math.inf, -1)
    assert plain == NOTHING.plus(1.5)


def test_exact_sum_serde_rejects_damaged_bytes() -> None:
    with pytest.raises(DeserializationError, match="are truncated"):
        EXACT_SUM.deserialize(bytes(26))
    with pytest.raises(SerializationError, match="negative or too large"):
        EXACT_SUM.serialize(NOTHING.plus(math.nan, -1))
    assert pickle.loads(pickle.dumps(EXACT_SUM)) == EXACT_SUM
    assert EXACT_SUM != TEXT
