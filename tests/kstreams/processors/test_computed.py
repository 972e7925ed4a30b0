"""Functions of `columns` in operators: columns and records give the same results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kstreams import BYTES, DOUBLE, TEXT, Topic, TopologyBuilder, timestamped_store
from kstreams.aggregators import combine, count, max_, over, sum_
from kstreams.durations import milliseconds
from kstreams.emit import each_update, on_close
from kstreams.errors import KStreamsError
from kstreams.operators import (
    aggregate,
    columns,
    filter_,
    filter_not,
    map_values,
    rekey,
)
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_avro import avro_serde
from kstreams_json import json_serde
from kstreams_protobuf import protobuf_serde
from tests.serdes.kstreams_protobuf.shapes_pb2 import Everything
from tests.support.topologies.executions import ByRecord, python_calls


@dataclass(frozen=True)
class Order:
    """A value with fields of all types, one of them optional."""

    user: str
    price: float
    quantity: int
    paid: bool
    note: str | None = None


@dataclass(frozen=True)
class Line:
    """An object that functions create."""

    user: str
    total: float
    quantity: int


def message(order: Order) -> Everything:
    return Everything(
        a_string=order.user, a_double=order.price, an_int64=order.quantity, a_bool=order.paid
    )


LIMIT = 2
FORMATS: dict[str, Any] = {
    "json": json_serde(Order),
    "avro": avro_serde(Order),
    "protobuf": protobuf_serde(Everything),
}


@dataclass(frozen=True)
class Functions:
    """The same functions for the fields of each format."""

    dear: Callable[[Any], bool]
    cheap: Callable[[Any], bool]
    line: Callable[[Any], Line]
    user: Callable[[Any], str]
    amount: Callable[[Any], float]
    per_item: Callable[[Any], float]


OF_ORDERS = Functions(
    columns(lambda o: (o.price * o.quantity >= LIMIT) | o.paid),
    columns(lambda o: ~(o.price > 1.5) & (o.user != "x")),
    columns(lambda o: Line(o.user, o.price * o.quantity, quantity=o.quantity + 1)),
    columns(lambda o: o.user),
    columns(lambda o: o.price * o.quantity),
    columns(lambda o: o.price / o.quantity),
)
OF_MESSAGES = Functions(
    columns(lambda m: (m.a_double * m.an_int64 >= LIMIT) | m.a_bool),
    columns(lambda m: ~(m.a_double > 1.5) & (m.a_string != "x")),
    columns(lambda m: Line(m.a_string, m.a_double * m.an_int64, quantity=m.an_int64 + 1)),
    columns(lambda m: m.a_string),
    columns(lambda m: m.a_double * m.an_int64),
    columns(lambda m: m.a_double / m.an_int64),
)
FEW: Callable[[Line], bool] = columns(lambda line: line.quantity < 9)
LINE_USER: Callable[[Line], str] = columns(lambda line: line.user)
LINE_TOTAL: Callable[[Line], float] = columns(lambda line: line.total)
LINES = json_serde(Line)
AVRO_LINES = avro_serde(Line)


def pipeline(name: str, form: str) -> tuple[Any, Topic[Any, Any]]:
    """Build one of the pipelines for a format; all of its nodes run by columns."""
    serde = FORMATS[form]
    use = OF_MESSAGES if form == "protobuf" else OF_ORDERS
    topic: Topic[Any, Any] = Topic("orders", BYTES, serde)
    builder: Any = TopologyBuilder("t")
    node = builder.add_source("orders", topic)
    if name == "filters":
        node = builder.add_processor("dear", filter_(use.dear), node)
        node = builder.add_processor("not-cheap", filter_not(use.cheap), node)
        builder.add_sink("out", Topic("out", BYTES, serde), node)
    elif name == "sum":
        node = builder.add_processor("dear", filter_(use.dear), node)
        found: Any = over(use.amount, sum_(DOUBLE))
        store: Any = timestamped_store("sums", key=BYTES, value=found.state)
        node = builder.add_processor("sum", aggregate(found, store=store), node)
        builder.add_sink("out", Topic("out", BYTES, DOUBLE), node)
    elif name in ("lines", "avro-lines"):
        lines: Any = LINES if name == "lines" else AVRO_LINES
        node = builder.add_processor("line", map_values(use.line), node)
        node = builder.add_processor("few", filter_(FEW), node)
        builder.add_sink("lines", Topic("lines", BYTES, lines), node)
        node = builder.add_processor("user", rekey(LINE_USER), node)
        node = builder.repartition("edge", node, key=TEXT, value=lines)
        both: Any = combine(over(LINE_TOTAL, sum_(DOUBLE)), count())
        store = timestamped_store("sums", key=TEXT, value=both.state)
        node = builder.add_processor("sum", aggregate(both, store=store, emit=each_update()), node)
        node = builder.add_processor("text", map_values(str), node)
        builder.add_sink("out", Topic("out", TEXT, TEXT), node)
    else:
        node = builder.add_processor("dear", filter_(use.dear), node)
        node = builder.add_processor("user", rekey(use.user), node)
        node = builder.repartition("edge", node, key=TEXT, value=serde)
        size = TumblingWindows(milliseconds(10), grace=milliseconds(5))
        found = over(use.per_item, max_(DOUBLE))
        store = window_store("tops", key=TEXT, value=found.state)
        node = builder.add_processor(
            "top", windowed_aggregate(size, found, store=store, emit=on_close()), node
        )
        builder.add_sink("out", Topic("out", windowed(TEXT, size), DOUBLE), node)
    return builder.build(), topic


def outcome(
    made: Any, topic: Topic[Any, Any], batches: list[list[Any]], *, records: bool
) -> tuple[dict[str, Any], Any]:
    """Run batches of key, order and time; return all output as bytes, and the failed record."""
    of_messages = topic.value == FORMATS["protobuf"]
    names = ["out", "lines"] if "Sink: lines" in made.describe() else ["out"]
    failure: Any = None
    interceptors: Any = [ByRecord()] if records else []
    with TopologyTestDriver(made, partitions=2, interceptors=interceptors) as driver:
        try:
            for batch in batches:
                for key, order, time in batch:
                    value = topic.value.serialize(message(order) if of_messages else order)
                    driver.write_bytes("orders", key, value, timestamp=time)
                driver.run()
        except KStreamsError as exc:
            failure = exc.where, str(exc)
        rows = {name: driver.read_rows(name) for name in names}
    return {
        name: [(r.partition, r.key, r.value, r.timestamp) for r in found]
        for name, found in rows.items()
    }, failure


INTS = st.integers(-3, 5) | st.sampled_from([2**62, -(2**63), 2**53 + 1])
PRICES = st.sampled_from([0.0, -0.0, 0.1, 1.5, -2.5, 1e308]) | st.floats(-10, 10)
USERS = st.sampled_from(["", "a", "x", "\U0001f600"])
ORDERS = st.builds(Order, USERS, PRICES, INTS, st.booleans(), st.none() | USERS)
ROWS = st.tuples(st.sampled_from([b"k", b"l"]), ORDERS, st.integers(0, 40))
BATCHES = st.lists(st.lists(ROWS, max_size=12), max_size=3)
NAMES = ["filters", "sum", "lines", "avro-lines", "windows"]


@settings(max_examples=60, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(BATCHES, st.sampled_from(NAMES), st.sampled_from(sorted(FORMATS)))
def test_pipelines_of_computed_functions_give_same_bytes_by_columns_and_by_records(
    batches: list[list[Any]], name: str, form: str
) -> None:
    made, topic = pipeline(name, form)
    by_columns, failed = outcome(made, topic, batches, records=False)
    by_records, failed_too = outcome(made, topic, batches, records=True)
    assert (failed is None) == (failed_too is None), (failed, failed_too)
    if failed is None:
        assert by_columns == by_records


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", sorted(FORMATS))
def test_all_nodes_of_pipelines_run_by_columns_without_calls(name: str, form: str) -> None:
    text = pipeline(name, form)[0].describe()
    assert "execution: records" not in text
    assert "decoded to objects" not in text


@pytest.mark.parametrize("name", ["sum", "lines", "avro-lines", "windows"])
@pytest.mark.parametrize("form", sorted(FORMATS))
def test_chain_from_source_to_aggregation_makes_no_python_call_per_record(
    name: str, form: str
) -> None:
    made, topic = pipeline(name, form)
    totals = []
    for number in (400, 800):
        with TopologyTestDriver(made) as driver:
            for row in range(number):
                order = Order("ab"[row % 2], 1.5 + row % 3, 1 + row % 2, paid=True)
                value = message(order) if form == "protobuf" else order
                driver.write_bytes("orders", b"k", topic.value.serialize(value), timestamp=0)
            if name in ("lines", "avro-lines"):  # its sink encodes objects
                driver.run()
                continue
            with python_calls() as calls:
                driver.run()
            totals.append(sum(calls.values()))
    if totals:
        assert totals[1] - totals[0] < 100, totals


def test_function_is_called_once_with_the_placeholder_and_never_by_columns() -> None:
    topic: Topic[Any, Any] = Topic("orders", BYTES, FORMATS["json"])

    def dear(order: Order) -> bool:
        return order.price > 1

    def user(order: Order) -> str:
        return order.user

    def amount(order: Order) -> float:
        return order.price * order.quantity

    with python_calls() as calls:
        builder: Any = TopologyBuilder("t")
        found: Any = over(columns(amount), sum_(DOUBLE))
        node = builder.add_source("orders", topic)
        node = builder.add_processor("dear", filter_(columns(dear)), node)
        node = builder.add_processor("user", rekey(columns(user)), node)
        node = builder.repartition("edge", node, key=TEXT, value=topic.value)
        store: Any = timestamped_store("sums", key=TEXT, value=found.state)
        node = builder.add_processor("sum", aggregate(found, store=store), node)
        builder.add_sink("out", Topic("out", TEXT, DOUBLE), node)
        with TopologyTestDriver(builder.build()) as driver:
            for number in range(100):
                driver.pipe(topic, b"k", Order("a", float(number), 2, paid=False), timestamp=0)
            assert driver.read_values(Topic("out", TEXT, DOUBLE)) == {"a": 9898.0}
    assert [calls[each.__code__] for each in (dear, user, amount)] == [1, 1, 1]
