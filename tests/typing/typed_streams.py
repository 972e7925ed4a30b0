"""Types that both checkers infer for streams and tables, and their steps."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import TypeIs, assert_type

from kstreams import DOUBLE, INT64, TEXT, Topic
from kstreams.aggregators import mean, sum_
from kstreams.durations import days, minutes
from kstreams.emit import each_update, on_close
from kstreams.joins import left_value, pair
from kstreams.operators import by_key, columns, filter_, rekey
from kstreams.streams import (
    CogroupedStream,
    GroupedStream,
    GroupedTable,
    Stream,
    Streams,
    Table,
    VersionedTable,
    WindowResults,
    classes,
)
from kstreams.windows import Late, SessionWindows, TumblingWindows, Windowed
from kstreams_json import json_serde


@dataclass(frozen=True)
class Order:
    customer: str
    price: float


@dataclass(frozen=True)
class Refund:
    customer: str


def is_text(value: str | None) -> TypeIs[str]:
    return value is not None


def event_of(order: Order) -> Order | Refund:
    return order if order.price > 0 else Refund(order.customer)


NUMBERS = Topic("numbers", key=TEXT, value=INT64, nulls="pass")

streams = Streams("typed", serdes=[json_serde(Refund)], make_serde=json_serde)
orders = streams.stream(Topic("orders", key=TEXT, value=json_serde(Order)))
names = streams.table(Topic("names", key=TEXT, value=TEXT))
numbers = streams.table(NUMBERS)
optional = streams.stream(Topic("optional", key=TEXT, value=TEXT, nulls="pass"))

assert_type(orders, Stream[str, Order])
assert_type(names, Table[str, str])
assert_type(numbers, Table[str, int])
assert_type(optional, Stream[str, str | None])
assert_type(optional.drop_nulls(), Stream[str, str])
assert_type(optional.narrow(is_text), Stream[str, str])
assert_type(optional.to_table(), Table[str, str])
assert_type(orders.map_values(lambda order: order.price), Stream[str, float])
assert_type(orders.flat_map_values(lambda order: order.customer.split()), Stream[str, str])
assert_type(orders.map(lambda _, order: (len(order.customer), order)), Stream[int, Order])
assert_type(orders.select_key(lambda _, order: order.price), Stream[float, Order])
assert_type(orders.deduplicate(by_key(), within=minutes(1)), Stream[str, Order])

placed, refunds = orders.map_values(event_of).by_type(classes(Order, Refund))
assert_type(placed, Stream[str, Order])
assert_type(refunds, Stream[str, Refund])

grouped = orders.group_by(lambda _, order: order.customer)
assert_type(grouped, GroupedStream[str, Order])
assert_type(grouped.count(), Table[str, int])
assert_type(grouped.over(lambda order: order.price).aggregate(sum_(DOUBLE)), Table[str, float])
assert_type(grouped.cogroup(lambda old, record: record.value.price), CogroupedStream[str, float])
by_parity = numbers.group_by(lambda _, number: number % 2)
assert_type(by_parity, GroupedTable[int, int])
assert_type(by_parity.aggregate(mean()), Table[int, float])

per_minute = grouped.windowed_by(TumblingWindows(minutes(1))).count()
assert_type(per_minute, WindowResults[str, Order, int])
assert_type(per_minute.late, Stream[str, Late[Order]])
sessions = SessionWindows(minutes(1))
growing = grouped.windowed_by(sessions, emit=each_update()).count()
assert_type(growing, WindowResults[str, Order, int | None])
assert_type(growing.drop_nulls(), Stream[Windowed[str], int])
final = grouped.windowed_by(sessions, emit=on_close()).reduce(lambda one, _: one)
assert_type(final, WindowResults[str, Order, Order])

assert_type(orders.join(names, pair), Stream[str, tuple[Order, str]])
assert_type(orders.join(names, left_value), Stream[str, Order])
assert_type(orders.left_join(names, lambda order, name: name or order.customer), Stream[str, str])
near = placed.within(minutes(1), grace=minutes(1))
assert_type(orders.join(near, lambda one, two: one.price + two.price), Stream[str, float])
rates = streams.versioned_table(Topic("rates", key=TEXT, value=DOUBLE), history=days(1))
assert_type(rates.filter(lambda _, rate: rate > 0), VersionedTable[str, float])
assert_type(
    orders.join(rates.as_of(grace=minutes(1)), lambda o, r: o.price * r), Stream[str, float]
)
assert_type(names.outer_join(numbers, lambda a, b: f"{a}{b}"), Table[str, str])
assert_type(names.to_stream(), Stream[str, str | None])
assert_type(names.updates(), Stream[str, str])


def is_dear(key: str, order: Order) -> bool:
    return (order.price > 100) & (key != order.customer)


def customer_of(_: str, order: Order) -> str:
    return order.customer


dear = orders.filter(columns(lambda _, order: order.price > 100))
assert_type(dear, Stream[str, Order])
assert_type(dear.filter(columns(is_dear)), Stream[str, Order])
assert_type(orders.filter_not(columns(lambda key, o: key == o.customer)), Stream[str, Order])
assert_type(orders.select_key(columns(lambda _, order: order.price)), Stream[float, Order])
assert_type(dear.select_key(columns(customer_of)), Stream[str, Order])
assert_type(orders.group_by(columns(lambda _, o: o.price)), GroupedStream[float, Order])
by_customer = dear.group_by(columns(customer_of))
assert_type(by_customer, GroupedStream[str, Order])
assert_type(by_customer.over(columns(lambda o: o.price)), GroupedStream[str, float])
assert_type(
    by_customer.windowed_by(TumblingWindows(minutes(1))).count().late, Stream[str, Late[Order]]
)
assert_type(orders.map_values(columns(lambda order: order.price * 2)), Stream[str, float])
assert_type(numbers.filter(columns(lambda _, number: number > 1)), Table[str, int])
assert_type(numbers.group_by(columns(lambda _, number: number % 2)), GroupedTable[int, int])
assert_type(orders.process(filter_(columns(is_dear))), Stream[str, Order])
assert_type(orders.process(rekey(columns(customer_of))), Stream[str, Order])
