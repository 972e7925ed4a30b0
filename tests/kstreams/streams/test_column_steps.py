"""Steps with functions of `columns`: columns and records give the same results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder, map_values
from kstreams.durations import milliseconds
from kstreams.emit import on_close
from kstreams.errors import KStreamsError, TopologyError
from kstreams.operators import columns, is_null
from kstreams.streams import Stream, Streams
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed
from kstreams_json import json_serde
from tests.support.topologies.executions import ByRecord, python_calls


@dataclass(frozen=True)
class Place:
    """A key."""

    region: str
    number: int


@dataclass(frozen=True)
class Order:
    """A value, with an optional field."""

    user: str
    price: float
    quantity: int
    note: str | None = None


@dataclass(frozen=True)
class Line:
    """A value that a function creates."""

    region: str
    total: float


ORDER = json_serde(Order)
untyped: Any = columns  # type checkers cannot infer lambdas without a context
LINE = json_serde(Line)
BY_PLACE = Topic("orders", json_serde(Place), ORDER)
BY_TEXT = Topic("orders", TEXT, ORDER, null_keys="pass")
BY_NUMBER = Topic("orders", INT64, ORDER, null_keys="pass")
NUMBERED = Topic("orders", INT64, ORDER)
WINDOWS = TumblingWindows(milliseconds(10), grace=milliseconds(5))
OUT = Topic("out", TEXT, ORDER, null_keys="pass")
PER_TEXT = Topic("out", windowed(TEXT, WINDOWS), INT64)
PER_NUMBER = Topic("out", windowed(INT64, WINDOWS), INT64)
COUNTS = Topic("out", TEXT, INT64)


def region_of(place: Place, _: Order) -> str:
    return place.region


def dear_per_user(streams: Streams) -> None:
    dear = streams.stream(BY_PLACE).filter(columns(lambda _, order: order.price > 1))
    users = dear.select_key(columns(lambda _, order: order.user))
    users.group_by_key().windowed_by(WINDOWS, emit=on_close()).count().to(PER_TEXT)


def key_and_value(streams: Streams) -> None:
    orders = streams.stream(BY_PLACE)
    some = orders.filter(columns(lambda place, order: place.number > order.quantity))
    same = untyped(lambda place, order: ~(place.region != order.user))
    some.filter_not(same).group_by(columns(region_of)).count().to(COUNTS)


def new_keys(streams: Streams) -> None:
    orders = streams.stream(BY_PLACE)
    moved = orders.select_key(columns(lambda place, order: place.number * order.quantity))
    large = moved.filter(columns(lambda number, order: number // 2 > order.quantity))
    again = large.select_key(columns(lambda number, order: number % 7 + order.quantity))
    again.group_by_key().windowed_by(WINDOWS).count().to(PER_NUMBER)


def null_numbers(streams: Streams) -> None:
    orders = streams.stream(BY_NUMBER)
    there: Any = orders.filter_not(columns(lambda number, _: is_null(number)))
    odd = there.filter(columns(lambda number, order: (number + order.quantity) % 2 == 1))
    odd.group_by(columns(lambda _, order: order.note)).count().to(COUNTS)


def null_texts(streams: Streams) -> None:
    there = untyped(lambda text, _: ~is_null(text))
    orders = streams.stream(BY_TEXT).filter(there)
    some = orders.filter(columns(lambda text, order: text != order.user))
    some.select_key(columns(lambda text, _: text)).to(OUT)


CHAINS: dict[str, tuple[Callable[[Streams], None], Topic[Any, Any]]] = {
    "dear-per-user": (dear_per_user, BY_PLACE),
    "key-and-value": (key_and_value, BY_PLACE),
    "new-keys": (new_keys, BY_PLACE),
    "null-numbers": (null_numbers, BY_NUMBER),
    "null-texts": (null_texts, BY_TEXT),
}
TEXTS = st.sampled_from(["", "a", "x", "\U0001f600"])
INTS = st.integers(-3, 5) | st.sampled_from([2**62, -(2**63), 2**53 + 1])
PRICES = st.sampled_from([0.0, -0.0, 1.5, 1e308]) | st.floats(-10, 10)
KEYS: dict[str, Any] = {
    BY_PLACE.key.name: st.builds(Place, TEXTS, INTS),
    TEXT.name: st.none() | TEXTS,
    INT64.name: st.none() | INTS,
}
ORDERS = st.builds(Order, TEXTS, PRICES, INTS, st.none() | TEXTS)


def topology_of(name: str) -> tuple[Topology, Topic[Any, Any]]:
    build, topic = CHAINS[name]
    streams = Streams("t")
    build(streams)
    return streams.build(), topic


@st.composite
def batches(draw: st.DrawFn) -> tuple[str, list[list[tuple[Any, Order, int]]]]:
    """Return the name of a chain, and batches of its keys, values and times."""
    name = draw(st.sampled_from(sorted(CHAINS)))
    row = st.tuples(KEYS[CHAINS[name][1].key.name], ORDERS, st.integers(0, 40))
    return name, draw(st.lists(st.lists(row, max_size=12), max_size=3))


def outcome(
    topology: Topology, topic: Topic[Any, Any], rows: list[list[Any]], *, records: bool
) -> tuple[list[Any], bool]:
    """Run batches; return all output as bytes, and whether a batch failed."""
    failed = False
    interceptors: Any = [ByRecord()] if records else []
    with TopologyTestDriver(topology, partitions=2, interceptors=interceptors) as driver:
        try:
            for batch in rows:
                for key, order, time in batch:
                    driver.write(topic, key, order, timestamp=time)
                driver.run()
        except KStreamsError:
            failed = True
        found = driver.read_rows("out")
    return [(row.partition, row.key, row.value, row.timestamp) for row in found], failed


@settings(max_examples=150, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(batches())
def test_steps_with_computed_functions_give_same_bytes_by_columns_and_by_records(
    given_: tuple[str, list[list[Any]]],
) -> None:
    name, rows = given_
    topology, topic = topology_of(name)
    by_columns, failed = outcome(topology, topic, rows, records=False)
    by_records, failed_too = outcome(topology, topic, rows, records=True)
    assert failed == failed_too
    if not failed:
        assert by_columns == by_records


@pytest.mark.parametrize("name", sorted(CHAINS))
def test_steps_with_computed_functions_run_by_columns_without_calls(name: str) -> None:
    text = topology_of(name)[0].describe()
    assert "execution: columns" in text
    assert "execution: records" not in text
    assert "decoded to objects" not in text


@pytest.mark.parametrize("name", sorted(set(CHAINS) - {"null-texts"}))  # its topic encodes objects
def test_chain_from_json_source_to_count_makes_no_python_call_per_record(name: str) -> None:
    topology, topic = topology_of(name)
    totals = []
    for number in (400, 800):
        with TopologyTestDriver(topology) as driver:
            for row in range(number):
                key: Any = Place("xy"[row % 2], 4 + row % 2) if topic is BY_PLACE else row % 5
                driver.write(topic, key, Order("ab"[row % 2], 1.5, 2, "note"), timestamp=0)
            with python_calls() as calls:
                driver.run()
            totals.append(sum(calls.values()))
    assert totals[1] - totals[0] < 100, totals


def test_function_of_key_and_value_is_called_once_with_the_placeholders() -> None:
    def large(place: Place, order: Order) -> bool:
        return place.number > order.quantity

    def user(_: Place, order: Order) -> str:
        return order.user

    with python_calls() as calls:
        streams = Streams("t")
        orders = streams.stream(BY_PLACE).filter(columns(large))
        orders.group_by(columns(user)).count().to(COUNTS)
        with TopologyTestDriver(streams.build()) as driver:
            for number in range(100):
                driver.write(BY_PLACE, Place("a", number), Order("ann", 1.0, 49), timestamp=0)
            driver.run()
            assert driver.read_values(COUNTS) == {"ann": 50}
    assert [calls[each.__code__] for each in (large, user)] == [1, 1]


def test_step_that_fails_names_the_record_by_columns() -> None:
    streams = Streams("t")
    orders = streams.stream(NUMBERED)
    ratios = orders.select_key(columns(lambda number, order: order.quantity // number))
    ratios.filter(columns(lambda ratio, _: ratio > 1)).group_by_key().count()
    topology = streams.build()
    assert "execution: records" not in topology.describe()
    with TopologyTestDriver(topology) as driver:
        driver.write(NUMBERED, 2, Order("ann", 1.0, 1), timestamp=1)
        driver.write(NUMBERED, 0, Order("bob", 1.0, 1), timestamp=2)
        with pytest.raises(KStreamsError, match="ZeroDivisionError") as raised:
            driver.run()
    where = raised.value.where
    assert (where.key, where.timestamp) == (0, 2)


def test_integer_keys_beyond_int64_pass_through_steps_as_python_integers() -> None:
    streams = Streams("t")
    moved = streams.stream(NUMBERED).select_key(columns(lambda number, _: number * 4))
    large = moved.filter(columns(lambda number, order: number > order.quantity))
    large.select_key(columns(lambda number, _: number // 8)).group_by_key().count().to(
        Topic("out", INT64, INT64)
    )
    topology = streams.build()
    assert "execution: records" not in topology.describe()
    with TopologyTestDriver(topology) as driver:
        driver.pipe(NUMBERED, 2**62, Order("ann", 1.0, 1), timestamp=1)
        assert driver.read_values(Topic("out", INT64, INT64)) == {2**61: 1}


def keyed(stream: Stream[Place, Order]) -> dict[str, Stream[Any, Any]]:
    """Return streams by the type of their new key, which follows from the key expression alone."""
    return {
        "int": stream.select_key(columns(lambda place, order: place.number + order.quantity)),
        "float": stream.select_key(columns(lambda place, order: place.number * order.price)),
        "bool": stream.select_key(columns(lambda place, order: place.number > order.quantity)),
        "str": stream.select_key(columns(region_of)),
    }


@pytest.mark.parametrize("name", ["int", "float", "bool", "str"])
def test_serde_of_new_keys_follows_from_the_operations(name: str) -> None:
    streams = Streams("t")
    steps = keyed(streams.stream(BY_PLACE))
    facts = steps[name]._facts
    assert facts.made_key.type.__name__ == name  # type: ignore[attr-defined]  # a class
    steps[name].group_by_key().count()


def test_serde_of_values_follows_from_the_operations_of_a_function_of_the_value() -> None:
    streams = Streams("t", serdes=[LINE])
    orders = streams.stream(BY_PLACE)
    lines = orders.map_values(columns(lambda order: Line(order.user, order.price)))
    assert lines._facts.value == LINE
    totals = lines.map_values(columns(lambda line: line.total))
    assert totals._facts.made_value.type is float
    numbers = orders.map_values(columns(lambda order: order.quantity * 2))
    assert numbers._facts.value == INT64


def test_computed_function_with_other_arguments_is_refused_at_the_call() -> None:
    orders = Streams("t").stream(BY_PLACE)
    one = untyped(lambda order: order.price > 1)
    two = untyped(lambda _, order: order.price > 1)
    for step, wrong, arguments in (
        (orders.filter, one, "key, value"),
        (orders.select_key, one, "key, value"),
        (orders.group_by, one, "key, value"),
        (orders.map_values, two, "value"),
        (orders.group_by_key().over, two, "value"),
    ):
        with pytest.raises(TopologyError, match=f"Hint: pass a function like lambda {arguments}:"):
            step(wrong)


def test_map_values_of_the_builder_computes_a_function_of_key_and_value() -> None:
    builder: Any = TopologyBuilder("t")
    node = builder.add_source("orders", BY_PLACE)
    line = untyped(lambda place, order: Line(place.region, place.number * order.price))
    node = builder.add_processor("line", map_values(line), node)
    builder.add_sink("out", Topic("out", json_serde(Place), LINE), node)
    topology = builder.build()
    assert "execution: columns\n" in topology.describe()
    rows = [[(Place("x", 3), Order("ann", 0.1, 1), 0), (Place("y", 2**60), Order("b", 1.5, 2), 1)]]
    both = [outcome(topology, BY_PLACE, rows, records=each) for each in (False, True)]
    assert both[0] == both[1]
    assert b'"total":0.30000000000000004' in both[0][0][0][2]
