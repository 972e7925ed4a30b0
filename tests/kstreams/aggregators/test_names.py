"""Names of aggregators: parts of stored names."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add, mul
from typing import Any

import pytest

from kstreams import DOUBLE, INT64, TEXT, Record
from kstreams.aggregators import (
    approx_count_distinct,
    collect,
    combine,
    count,
    count_distinct,
    field,
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
from kstreams.aggregators.aggregator import aggregator_name


@dataclass(frozen=True)
class OrderTotals:
    orders: int
    total: float


class Spread:
    """An aggregator of another package, without a name."""


class Named:
    name = "price range"


def append_value(state: str, record: Record[Any, str]) -> str:
    return state + record.value


def half(value: int) -> int:
    return value // 2


NAMES: dict[str, Any] = {
    "count": count(),
    "sum": sum_(INT64),
    "min": min_(INT64),
    "max": max_(INT64),
    "mean": mean(),
    "variance": variance(),
    "first": first(INT64),
    "last": last(INT64),
    "collect": collect(INT64),
    "count-distinct": count_distinct(INT64),
    "approx-count-distinct": approx_count_distinct(INT64),
    "top-3": top_n(3, INT64),
    "top-3-by-half": top_n(3, INT64, by=half),
    "add": reducing(add, INT64),
    "mul": reducing(mul, INT64),
    "reduce": reducing(lambda one, other: one + other, INT64),
    "append-value": fold(TEXT, str, append_value),
    "fold": fold(TEXT, str, lambda state, record: state),
    "price-sum": over(field("price", DOUBLE), sum_(DOUBLE)),
    "half-sum": over(half, sum_(INT64)),
    "price-half-sum": over(field("price", INT64), over(half, sum_(INT64))),
    "count-max": combine(count(), max_(INT64)),
    "largest-orders": combine(orders=count(), largest=max_(INT64)),
    "order-totals": combine(OrderTotals, orders=count(), total=sum_(DOUBLE)),
    "a-b": combine(dict, b=count(), a=count()),
    "spread": Spread(),
    "price-range": Named(),
}


@pytest.mark.parametrize("name", NAMES)
def test_aggregator_name_describes_the_state(name: str) -> None:
    assert aggregator_name(NAMES[name]) == name


def test_sum_of_doubles_and_integers_have_one_name() -> None:
    assert aggregator_name(sum_(DOUBLE)) == aggregator_name(sum_(INT64))


def test_name_of_a_lambda_part_is_omitted() -> None:
    by_lambda: Any = over(lambda value: value, sum_(INT64))
    assert aggregator_name(by_lambda) == "sum"


def test_name_of_a_combination_does_not_depend_on_the_order_of_the_call() -> None:
    one = combine(orders=count(), largest=max_(INT64))
    other = combine(largest=max_(INT64), orders=count())
    assert aggregator_name(one) == aggregator_name(other)
