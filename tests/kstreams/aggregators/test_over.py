"""`over` with functions of `columns`: columns and records give the same results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, INT64, TEXT, Serde, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import first, last, max_, mean, min_, over, sum_, variance
from kstreams.emit import each_update
from kstreams.errors import KStreamsError
from kstreams.operators import aggregate, columns, map_values
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde
from tests.support.topologies.executions import ByRecord


@dataclass(frozen=True)
class Item:
    """A value with numbers, some of which may be missing."""

    i: int
    j: int
    f: float
    g: float
    n: int | None
    m: float | None


ITEM = json_serde(Item)
INTEGERS: dict[str, Callable[[Item], Any]] = {
    "field": columns(lambda item: item.i),
    "sum": columns(lambda item: item.i + item.j),
    "product": columns(lambda item: item.i * item.j),
    "rest": columns(lambda item: item.i % item.j),
    "difference": columns(lambda item: abs(item.i - item.j)),
    "optional": columns(lambda item: item.n),
    "constant": columns(lambda _: 7),
}
DOUBLES: dict[str, Callable[[Item], Any]] = {
    "field": columns(lambda item: item.f),
    "negative": columns(lambda item: -item.f),
    "quotient": columns(lambda item: item.i / item.j),
    "floor": columns(lambda item: item.f // item.g),
    "rest": columns(lambda item: item.f % item.g),
    "mixed": columns(lambda item: item.i * item.f),
    "optional": columns(lambda item: item.m),
}
FUNCTIONS: list[tuple[Serde[Any], Callable[[Item], Any]]] = [
    *((INT64, each) for each in INTEGERS.values()),
    *((DOUBLE, each) for each in DOUBLES.values()),
]
OPTIONAL = (INTEGERS["optional"], DOUBLES["optional"])
AGGREGATORS: dict[str, Callable[[Serde[Any]], Any]] = {
    "sum": sum_,
    "min": min_,
    "max": max_,
    "first": first,
    "last": last,
    "mean": lambda _: mean(),
    "variance": lambda _: variance(),
}
SMALL = st.integers(-9, 9)
ANY = SMALL | st.sampled_from([0, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**64, -(2**70)])
FRACTIONS = st.sampled_from([0.0, -0.0, 1.5, 1e308, -1e308, 5e-324]) | st.floats(-9, 9)
PLAIN = st.builds(
    Item, SMALL, st.integers(1, 5), FRACTIONS, st.sampled_from([1.5, -2.0]), SMALL, FRACTIONS
)
HOSTILE = st.builds(Item, ANY, ANY, FRACTIONS, FRACTIONS, ANY | st.none(), FRACTIONS | st.none())


def batches_of(items: Any) -> Any:
    rows = st.tuples(st.sampled_from([b"k", b"l"]), items)
    return st.lists(st.lists(rows, min_size=1, max_size=8), min_size=1, max_size=3)


@cache
def summary(place: int, name: str, *, updates: bool) -> Any:
    """Build a topology that aggregates a function, and writes results as exact text."""
    number, function = FUNCTIONS[place]
    found: Any = over(function, AGGREGATORS[name](number))
    store = timestamped_store("state", key=BYTES, value=found.state)
    emit: Any = {"emit": each_update()} if updates else {}
    builder: Any = TopologyBuilder("t")
    node = builder.add_source("in", Topic("in", BYTES, ITEM))
    node = builder.add_processor("all", aggregate(found, store=store, **emit), node)
    node = builder.add_processor("text", map_values(repr), node)
    builder.add_sink("out", Topic("out", BYTES, TEXT), node)
    return builder.build()


def outcome(made: Any, batches: Any, *, records: bool) -> tuple[list[Any], bool]:
    """Run batches; return the output, and whether one failed."""
    failed = False
    interceptors: Any = [ByRecord()] if records else []
    with TopologyTestDriver(made, interceptors=interceptors) as driver:
        try:
            for batch in batches:
                for key, item in batch:
                    driver.write_bytes("in", key, ITEM.serialize(item), timestamp=0)
                driver.run()
        except KStreamsError:
            failed = True
        return [(row.key, row.value) for row in driver.read_rows("out")], failed


@given(
    st.integers(0, len(FUNCTIONS) - 1),
    st.sampled_from(sorted(AGGREGATORS)),
    st.tuples(st.booleans(), batches_of(PLAIN)) | st.tuples(st.just(False), batches_of(HOSTILE)),
)
def test_aggregates_of_functions_by_columns_equal_those_by_records_to_the_last_bit(
    place: int, name: str, case: tuple[bool, Any]
) -> None:
    updates, batches = case  # by columns, an update beyond int64 fails before its sink rejects it
    if name in ("first", "last"):  # by columns all numbers are read, by records only the kept one
        assume(FUNCTIONS[place][1] not in OPTIONAL)
    made = summary(place, name, updates=updates)
    by_columns, failed = outcome(made, batches, records=False)
    by_records, failed_too = outcome(made, batches, records=True)
    assert failed == failed_too
    if not failed:
        assert by_columns == by_records


@pytest.mark.parametrize("name", sorted(AGGREGATORS))
def test_aggregation_of_a_function_runs_by_columns(name: str) -> None:
    for place in range(len(FUNCTIONS)):
        assert "execution: records" not in summary(place, name, updates=False).describe()
