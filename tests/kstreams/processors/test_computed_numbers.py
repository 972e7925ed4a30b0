"""Functions of `columns` for plain numbers, bools and text: columns and records give the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, INT64, TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import max_
from kstreams.errors import KStreamsError
from kstreams.operators import (
    aggregate,
    columns,
    filter_,
    filter_not,
    is_null,
    map_values,
    rekey,
)
from kstreams.serde import BOOL, INT32, Serde
from kstreams.testing import TopologyTestDriver
from tests.support.topologies.executions import ByRecord

SERDES: dict[str, Serde[Any]] = {
    "int64": INT64,
    "int32": INT32,
    "double": DOUBLE,
    "bool": BOOL,
    "text": TEXT,
}
VALUES: dict[str, Any] = {
    "int64": st.sampled_from([0, 2**63 - 1, -(2**63), 2**53 + 1]) | st.integers(-9, 9),
    "int32": st.sampled_from([0, 2**31 - 1, -(2**31)]) | st.integers(-9, 9),
    "double": st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324])
    | st.floats(-9, 9),
    "bool": st.booleans(),
    "text": st.sampled_from(["", "a", "b", "\uffff", "\U0001f600"]),
}
NUMBERS: dict[str, Callable[[Any], Any]] = {
    "value": columns(lambda v: v),
    "sum": columns(lambda v: v + 1),
    "negative": columns(lambda v: -v),
    "square": columns(lambda v: v * v),
    "quotient": columns(lambda v: v // 3),
    "rest": columns(lambda v: v % -3),
    "half": columns(lambda v: v / 2),
    "inverse": columns(lambda v: 1 / v),
    "above": columns(lambda v: v > 1),
    "equal": columns(lambda v: v == v),  # NaN differs from itself
    "null": columns(lambda v: is_null(v)),
    "constant": columns(lambda _: 7),
}
TEXTS: dict[str, Callable[[Any], Any]] = {
    "value": columns(lambda v: v),
    "above": columns(lambda v: (v > "a") & (v != "\uffff")),
    "null": columns(lambda v: is_null(v)),
    "constant": columns(lambda _: 7),
}
RESULTS: dict[str, Serde[Any]] = {
    "half": DOUBLE,
    "inverse": DOUBLE,
    "above": BOOL,
    "equal": BOOL,
    "null": BOOL,
    "constant": INT64,
}
Shape = tuple[str, str, str, str, bool, bool]
"""Kind of values, names of the functions, `filter_not` instead of `filter_`, nulls passed."""


@st.composite
def shapes(draw: Any) -> Shape:
    kind = draw(st.sampled_from(sorted(SERDES)))
    names = st.sampled_from(sorted(TEXTS if kind == "text" else NUMBERS))
    keys = names.filter(lambda name: _serde(kind, name) != DOUBLE)  # no edge by columns
    return kind, draw(names), draw(keys), draw(names), draw(st.booleans()), draw(st.booleans())


def _serde(kind: str, name: str) -> Serde[Any]:
    if name == "value":
        return SERDES[kind]
    return RESULTS.get(name, DOUBLE if kind == "double" else INT64)


@cache
def chain(shape: Shape) -> Any:
    """Build a topology of `filter_`, `rekey`, `map_values`, an edge and an aggregation."""
    kind, predicate, key, value, negated, nulls = shape
    functions = TEXTS if kind == "text" else NUMBERS
    builder: Any = TopologyBuilder("t")
    source: Any = Topic("in", BYTES, SERDES[kind], nulls="pass" if nulls else "drop")
    node = builder.add_source("in", source)
    kept = filter_not if negated else filter_
    node = builder.add_processor("some", kept(functions[predicate]), node)
    node = builder.add_processor("key", rekey(functions[key]), node)
    node = builder.add_processor("value", map_values(functions[value]), node)
    keys, values = _serde(kind, key), _serde(kind, value)
    node = builder.repartition("edge", node, key=keys, value=values)
    greatest: Any = max_(values)
    store = timestamped_store("greatest", key=keys, value=greatest.state)
    node = builder.add_processor("greatest", aggregate(greatest, store=store), node)
    builder.add_sink("out", Topic("out", keys, values), node)
    return builder.build()


def outcome(shape: Shape, values: list[Any], *, records: bool) -> tuple[list[Any], str | None]:
    """Run one batch; return the output as bytes, and the class of the error."""
    serde = SERDES[shape[0]]
    interceptors: Any = [ByRecord()] if records else []
    failure = None
    with TopologyTestDriver(chain(shape), interceptors=interceptors) as driver:
        try:
            for value in values:
                data = None if value is None else serde.serialize(value)
                driver.write_bytes("in", b"k", data, timestamp=0)
            driver.run()
        except KStreamsError as exc:
            failure = type(exc).__name__
        return [(row.key, row.value) for row in driver.read_rows("out")], failure


@given(st.data(), shapes())
def test_chain_of_numbers_and_text_gives_same_bytes_by_columns_and_by_records(
    data: Any, shape: Shape
) -> None:
    values = data.draw(st.lists(VALUES[shape[0]] | st.none(), max_size=8))
    by_columns, failed = outcome(shape, values, records=False)
    by_records, failed_too = outcome(shape, values, records=True)
    assert failed == failed_too
    if failed is None:
        assert by_columns == by_records


@pytest.mark.parametrize("kind", sorted(SERDES))
def test_all_nodes_of_a_chain_of_numbers_or_text_run_by_columns(kind: str) -> None:
    key = "value" if kind != "double" else "above"
    text = chain((kind, "above", key, "value", False, False)).describe()
    assert text.count("execution: columns") == 4, text
    assert "decoded to objects" not in text
