"""Steps of tables and branches with functions of `columns`: columns and records agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kstreams import DOUBLE, INT64, TEXT, Topic, Topology
from kstreams.aggregators import sum_
from kstreams.emit import each_update
from kstreams.errors import KStreamsError
from kstreams.operators import columns, is_null
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams_json import json_serde
from tests.support.topologies.executions import ByRecord, python_calls


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

    user: str
    total: float


untyped: Any = columns  # type checkers cannot infer lambdas without a context
ORDER, LINE = json_serde(Order), json_serde(Line)
ONE: Topic[str, Order | None] = Topic("one", TEXT, ORDER, nulls="pass")
TWO: Topic[str, Order | None] = Topic("two", TEXT, ORDER, nulls="pass")
OUT = Topic("out", TEXT, LINE)
NUMBERS = Topic("out", TEXT, DOUBLE)
TEXTS = Topic("out", TEXT, TEXT)
PER_KEY = Topic("counts", TEXT, INT64)


def line(order: Order) -> Line:
    return Line(order.user, order.price * order.quantity)


def of_both(one: Order, two: Order) -> Line:
    return Line(one.user, one.price - two.price)


def derived_rows(streams: Streams) -> None:
    table = streams.table(ONE).filter(columns(lambda key, order: order.price > 1))
    lines = table.map_values(columns(line))
    few = lines.filter(untyped(lambda key, line: ~(line.user == key)), store="few")
    few.map_values(columns(lambda line: line.total), store="totals").to(NUMBERS, emit=each_update())


def none_for_no_row(streams: Streams) -> None:
    notes = streams.table(ONE).map_values(columns(lambda order: order.note))
    notes.derive(columns(lambda key, note: note)).to(TEXTS)


def joined_tables(streams: Streams) -> None:
    dear = streams.table(ONE).filter(columns(lambda _, order: order.quantity % 2 == 0))
    rows = dear.join(streams.table(TWO), columns(of_both), value=LINE, store="joined")
    rows.filter(columns(lambda _, line: line.total >= 0)).to(OUT)


def looked_up(streams: Streams) -> None:
    table = streams.table(TWO).filter(columns(lambda _, order: order.price > 1))
    lines = table.map_values(columns(line))
    orders = streams.stream(Topic("one", TEXT, ORDER))
    joined = orders.left_join(lines, untyped(lambda one, _: one.price), value=DOUBLE)
    joined.to(NUMBERS)


def aggregated(streams: Streams) -> None:
    orders = streams.stream(ONE).drop_nulls().group_by(columns(lambda _, order: order.user))
    sums = orders.over(columns(lambda order: order.price)).aggregate(sum_(DOUBLE))
    sums.filter(columns(lambda user, total: total > 2)).to(NUMBERS)


def grouped_rows(streams: Streams) -> None:
    table = streams.table(ONE).filter(columns(lambda _, order: order.quantity > 0))
    table.group_by(columns(lambda _, order: order.user)).count().to(Topic("out", TEXT, INT64))


def branches(streams: Streams) -> None:
    both = [streams.stream(Topic(name, TEXT, ORDER)) for name in ("one", "two")]
    dear, rest = (
        both[0].merge(both[1]).split(columns(lambda _, order: order.price * order.quantity > 2))
    )
    odd, even = rest.split(columns(lambda key, order: (order.quantity % 2 == 1) | (key == "a")))
    dear.filter(columns(lambda key, order: order.user != key)).map_values(columns(line)).to(OUT)
    even.group_by(columns(lambda key, order: order.user)).count()
    odd.group_by(columns(lambda _, order: order.user)).count().to(PER_KEY)


def divided(streams: Streams) -> None:
    orders = streams.stream(Topic("one", TEXT, ORDER))
    known, _ = orders.split(untyped(lambda _, order: ~is_null(order.note)))
    less, more = known.split(columns(lambda _, order: 6 // order.quantity > 2))
    less.group_by(columns(lambda _, order: order.note)).count().to(PER_KEY)
    more.map_values(columns(lambda order: order.price)).to(NUMBERS)


SHAPES: dict[str, Callable[[Streams], None]] = {
    each.__name__: each
    for each in (
        *(derived_rows, none_for_no_row, joined_tables, looked_up, aggregated, grouped_rows),
        *(branches, divided),
    )
}
USERS = st.sampled_from(["", "a", "b", "\U0001f600"])
INTS = st.integers(-3, 5) | st.sampled_from([2**62, -(2**63), 2**53 + 1])
PRICES = st.sampled_from([0.0, -0.0, 1.5, 1e308]) | st.floats(-10, 10)
ORDERS = st.builds(Order, USERS, PRICES, INTS, st.none() | USERS)
ROWS = st.tuples(st.sampled_from(["one", "two"]), st.sampled_from("abc"), ORDERS | st.none())
BATCHES = st.lists(st.lists(ROWS, max_size=10), max_size=4)


def topology_of(name: str) -> Topology:
    streams = Streams("t", serdes=[LINE])
    SHAPES[name](streams)
    return streams.build()


def outcome(topology: Topology, rows: list[list[Any]], *, records: bool) -> tuple[Any, Any]:
    """Run batches; return all output as bytes, and the record at which one failed."""
    interceptors: Any = [ByRecord()] if records else []
    sinks = [each for each in ("out", "counts") if f"Sink: to-{each}" in topology.describe()]
    with_two = "(topic: two," in topology.describe()
    failed: Any = None
    with TopologyTestDriver(topology, partitions=2, interceptors=interceptors) as driver:
        try:
            for number, batch in enumerate(rows):
                for place, (topic, key, order) in enumerate(batch):
                    time = number * 100 + place
                    if topic == "one" or not with_two:
                        driver.write(ONE, key, order, timestamp=time)
                    else:
                        driver.write(TWO, key, order, timestamp=time)
                driver.run()
        except KStreamsError as exc:
            failed = exc.where.key, exc.where.timestamp
        found = {each: driver.read_rows(each) for each in sinks}
    return {
        name: [(r.partition, r.key, r.value, r.timestamp) for r in rows_]
        for name, rows_ in found.items()
    }, failed


@settings(max_examples=200, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.sampled_from(sorted(SHAPES)), BATCHES)
def test_steps_give_same_bytes_by_columns_and_by_records(name: str, rows: list[list[Any]]) -> None:
    topology = topology_of(name)
    by_columns, failed = outcome(topology, rows, records=False)
    by_records, failed_too = outcome(topology, rows, records=True)
    assert (failed is None) == (failed_too is None)
    if failed is None:
        assert by_columns == by_records


BY_RECORDS = {"grouped_rows"}  # the groups of a table have no column form


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_steps_run_by_columns(name: str) -> None:
    text = topology_of(name).describe()
    assert "execution: columns" in text
    assert "execution: records" not in text


@pytest.mark.parametrize("name", sorted(set(SHAPES) - BY_RECORDS))
def test_functions_are_not_called_for_each_record(name: str) -> None:
    topology = topology_of(name)
    totals = []
    for number in (300, 600):
        with TopologyTestDriver(topology) as driver:
            for row in range(number):
                order = Order("ab"[row % 2], 0.5 + row % 3, 1 + row % 2, "note")
                driver.write(ONE, f"k{row % 100}", order, timestamp=row)
                driver.write(TWO, f"k{row % 100}", order, timestamp=row) if "look" in name else None
            with python_calls() as calls:
                driver.run()
        totals.append(sum(n for code, n in calls.items() if code.co_filename == __file__))
    assert totals == [0, 0] or totals[1] - totals[0] < 20, totals


def test_predicate_that_raises_names_the_first_record_that_fails_in_any_branch() -> None:
    streams = Streams("t")
    orders = streams.stream(Topic("one", TEXT, ORDER))
    one, rest = orders.split(columns(lambda _, order: 6 // order.quantity > 2))
    two, _ = rest.split(columns(lambda _, order: order.price / 1.0 > 2))
    one.merge(two).to(Topic("out", TEXT, ORDER))
    topology = streams.build()
    rows = [("one", "a", Order("", 1.0, 9)), ("one", "b", Order("", 1.0, 0))]
    assert [outcome(topology, [rows], records=each)[1] for each in (False, True)] == [("b", 1)] * 2
