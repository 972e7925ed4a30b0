"""Wrong uses of streams and tables: both checkers refuse each marked line, and no other line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from kstreams import BYTES, DOUBLE, INT64, TEXT, FixedKeyProcessor, Record, Topic
from kstreams.aggregators import max_, sum_
from kstreams.durations import days, minutes, seconds
from kstreams.emit import on_close
from kstreams.joins import JoinProcessor, Service
from kstreams.operators import by_header, columns
from kstreams.stores import timestamped_store, window_store
from kstreams.streams import Streams, classes
from kstreams.windows import SessionWindows, TumblingWindows, windowed
from kstreams_json import json_serde


@dataclass(frozen=True)
class Order:
    customer: str
    price: float


@dataclass(frozen=True)
class Refund:
    customer: str


@dataclass(frozen=True)
class Cancel:
    customer: str


class Halve(FixedKeyProcessor[str, int, float]):
    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(record.value / 2))


class Pairs(JoinProcessor[str, str, int, str, str]):
    def process_left(self, record: Record[str, str]) -> None:
        self.context.forward(record)

    def process_right(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(""))


MINUTE = TumblingWindows(minutes(1))
VISIT = SessionWindows(minutes(30))
ORDERS = Topic("orders", key=TEXT, value=json_serde(Order))
TEXTS = Topic("texts", key=TEXT, value=TEXT)
NUMBERS = Topic("numbers", key=TEXT, value=INT64)
DELETABLE = Topic("deletable", key=TEXT, value=INT64, nulls="pass")
BY_NUMBER = Topic("by-number", key=INT64, value=TEXT)
RAW = Topic("raw", key=BYTES, value=BYTES)
PER_MINUTE = Topic("per-minute", key=windowed(TEXT, MINUTE), value=INT64)
TEXT_PER_MINUTE = Topic("text-per-minute", key=windowed(TEXT, MINUTE), value=TEXT)
ROWS = timestamped_store("c", key=TEXT, value=INT64)
ROWS_OF_TEXT = timestamped_store("d", key=TEXT, value=TEXT)

streams = Streams("wrong")
orders = streams.stream(ORDERS)
texts = streams.stream(TEXTS)
numbers = streams.stream(NUMBERS)
deletable = streams.stream(DELETABLE)
by_number = streams.stream(BY_NUMBER)
names = streams.table(Topic("names", key=TEXT, value=TEXT))
cities = streams.table(Topic("cities", key=INT64, value=TEXT))
rates = streams.versioned_table(Topic("rates", key=TEXT, value=DOUBLE), history=days(1))
devices = streams.global_table(Topic("devices", key=INT64, value=TEXT))
numbers_by_parity = streams.table(NUMBERS).group_by(lambda _, number: number % 2)
loop = streams.loop("loop", key=TEXT, value=INT64)


async def ask(questions: Iterable[str]) -> dict[str, int]:
    return {question: len(question) for question in questions}


SERVICE: Service[str, int] = Service(ask)


def both(one: str, other: str) -> str:
    return one + other


def halve(value: int) -> float:
    return value / 2


def is_long(text: str) -> bool:
    return len(text) > 9


def plus(old: int | None, record: Record[str, str]) -> int:
    return (old or 0) + len(record.value)


def join_texts(old: str | None, record: Record[str, str]) -> str:
    return (old or "") + record.value


def time_of(record: Record[str, int]) -> int:
    return record.value


# Steps for single records
texts.map_values(halve)  # red
texts.map_values(lambda text: text.uper())  # red
orders.map_values(lambda order: order.pirce)  # red
orders.map_values(lambda key, order: order)  # red
orders.map_values(lambda order: order.price, value=TEXT)  # red
deletable.map_values(lambda number: number + 1)  # red
texts.map(lambda key, text: text)  # red
texts.map(lambda key, text: (text, key, text))  # red
texts.map(lambda key, text: (len(text), key), key=TEXT)  # red
texts.flat_map(lambda key, text: [text])  # red
texts.flat_map_values(len)  # red
orders.flat_map_values(lambda order: order.customer.split(), value=INT64)  # red
orders.select_key(lambda _, order: order.custmer)  # red
orders.select_key(lambda _, order: order.customer, key=INT64)  # red
orders.filter(lambda order: order.price > 3)  # red
orders.filter(lambda _, order: order)  # red
orders.filter_not(lambda _, order: order.price.isspace())  # red
orders.filter(columns(lambda _, order: order.pirce > 3))  # red
orders.filter(columns(lambda order: order.price > 3))  # red
orders.filter(columns(lambda _, order: order.price))  # red
orders.filter_not(columns(lambda key, order: key.price > 3))  # red
orders.select_key(columns(lambda _, order: order.custmer))  # red
orders.select_key(columns(lambda _, order: order.customer), key=INT64)  # red
orders.select_key(columns(lambda order: order.customer))  # red
orders.group_by(columns(lambda _, order: order.price)).count().to(NUMBERS)  # red
orders.group_by(columns(lambda order: order.price))  # red
orders.map_values(columns(lambda key, order: order.price))  # red
orders.peek(lambda order: None)  # red
texts.only("str")  # red
texts.narrow(is_long)  # red
orders.merge(texts)  # red
orders.split(lambda order: order.price > 3)  # red
cheap, dear, other = orders.split(lambda _, order: order.price > 3)  # red
orders.validate(lambda _, order: order.price > 3)  # red
orders.transform(lambda record: [record.value])  # red
texts.process(Halve)  # red
numbers.process(Halve, value=TEXT)  # red
orders.deduplicate(lambda _, order: order.customer, within=minutes(1), key=INT64)  # red
orders.deduplicate(lambda _, order: order.customer, within=60)  # red
orders.named(5)  # red

# Unions
events = streams.stream(ORDERS).map_values(lambda order: order if order.price else Refund("x"))
events.by_type(classes(Order, Cancel))  # red
events.by_type(classes(Order, Refund, Cancel))  # red
events.by_type(Order)  # red
events.only(Order).map_values(lambda order: order.pirce)  # red
events.map_values(lambda event: event.price)  # red

# Aggregations by key
orders.count()  # red
texts.group_by_key().to(TEXTS)  # red
texts.group_by_key().count().to(TEXTS)  # red
orders.group_by(lambda _, order: order.price).count().to(NUMBERS)  # red
orders.group_by(lambda _, order: order.price, key=TEXT).count()  # red
texts.group_by_key().reduce(lambda one, two: len(one))  # red
orders.group_by_key().reduce(lambda one, two: one.price)  # red
texts.group_by_key().aggregate(max_(INT64))  # red
orders.group_by_key().over(lambda order: order.customer).aggregate(sum_(DOUBLE))  # red
orders.group_by_key().over(lambda order: order.pirce)  # red
texts.group_by_key().count(store=timestamped_store("c", key=INT64, value=INT64))  # red
texts.group_by_key().count(store=window_store("c", key=TEXT, value=INT64))  # red
texts.group_by_key().count(ttl=5)  # red
texts.group_by_key().count(emit=on_close())  # red
texts.group_by_key().reduce(both, emit=on_close())  # red
texts.group_by_key().cogroup(plus).cogroup(by_number.group_by_key(), plus)  # red
texts.group_by_key().cogroup(plus).cogroup(texts.group_by_key(), join_texts)  # red
numbers.group_by_key().cogroup(plus)  # red
texts.group_by_key().cogroup(plus, state=TEXT)  # red
texts.to_table(store=timestamped_store("t", key=TEXT, value=INT64))  # red

# Windows
texts.group_by_key().windowed_by(minutes(1))  # red
texts.windowed_by(MINUTE)  # red
texts.group_by_key().windowed_by(MINUTE, emit="on_close")  # red
texts.group_by_key().windowed_by(MINUTE).count().to(NUMBERS)  # red
texts.group_by_key().windowed_by(MINUTE).count().to(TEXT_PER_MINUTE)  # red
texts.group_by_key().windowed_by(VISIT).count().to(PER_MINUTE)  # red
texts.group_by_key().windowed_by(VISIT).count().map_values(lambda n: n + 1)  # red
texts.group_by_key().windowed_by(MINUTE).count(store=ROWS)  # red
texts.group_by_key().windowed_by(MINUTE).count(store=window_store("c", key=TEXT, value=TEXT))  # red
texts.group_by_key().windowed_by(MINUTE, emit=on_close()).count().late.to(TEXTS)  # red
texts.group_by_key().windowed_by(MINUTE).reduce(lambda one, two: 5)  # red
texts.group_by_key().windowed_by(MINUTE).aggregate(sum_(INT64))  # red
texts.group_by_key().windowed_by(MINUTE).count(emit=on_close())  # red

# Joins of streams
texts.join(names, lambda text, name: text.uper())  # red
texts.join(cities, both)  # red
texts.join(by_number, both)  # red
texts.join(texts, both)  # red
texts.left_join(names, both)  # red
texts.left_join(names, lambda text, name: name.upper())  # red
texts.outer_join(names, lambda text, name: text)  # red
texts.join(names, lambda text, name: len(name)).to(TEXTS)  # red
texts.join(names, lambda text, name: len(name), value=TEXT)  # red
texts.join(devices, both)  # red
texts.join(names.as_of(grace=minutes(1)), both)  # red
texts.join(rates.as_of(minutes(1)), lambda text, rate: text)  # red
texts.join(rates.as_of(grace=minutes(1)), both)  # red
texts.join(numbers.within(minutes(1)), lambda text, number: text)  # red
texts.join(numbers.within(minutes(1), grace=seconds(1)), both)  # red
texts.outer_join(numbers.within(minutes(1), grace=seconds(1)), both)  # red
texts.join_by(devices, lambda _, text: text, both)  # red
numbers.join_by(devices, lambda _, number: number, both)  # red
numbers.left_join_by(devices, lambda _, number: number, lambda number, d: d.upper())  # red
texts.join_by(SERVICE, lambda _, text: len(text), lambda text, size: text)  # red
texts.join_by(names, lambda _, text: text, both)  # red

# Tables
names.to(NUMBERS)  # red
names.to_stream().to(TEXTS)  # red
names.updates().to(NUMBERS)  # red
names.join(cities, both)  # red
names.join(texts, both)  # red
names.left_join(names, both)  # red
names.map_values(halve)  # red
names.filter(lambda name: name == "")  # red
names.join_by(cities, lambda _, name: name, both)  # red
names.join_by(cities, lambda _, name: len(name), lambda name, city: city.uper())  # red
names.group_by(lambda _, name: name).aggregate(max_(TEXT))  # red
names.group_by(lambda _, name: len(name), key=TEXT)  # red
names.group_by_key()  # red
names.as_of(grace=minutes(1))  # red
streams.table(TEXTS, store=timestamped_store("t", key=TEXT, value=INT64))  # red
streams.table(TEXTS, history=days(1))  # red
streams.versioned_table(TEXTS)  # red

# Destinations, sources and options
orders.to(TEXTS)  # red
texts.to(BY_NUMBER)  # red
deletable.to(NUMBERS)  # red
texts.to(loop)  # red
texts.to("texts")  # red
orders.to(ORDERS, on_refused="never")  # red
orders.to(ORDERS).filter(lambda _, order: True)  # red
streams.stream("orders")  # red
streams.stream(ORDERS, event_time=time_of)  # red
streams.stream(ORDERS, invalid_time="now")  # red
streams.loop("other", key=TEXT, value=INT64).to(TEXTS)  # red
Streams("x", serdes=[Order])  # red
Streams("x", serdes={Order: json_serde(Order)})  # red
Streams("x", make_serde=json.dumps)  # red
Streams("x", on_error="ignore")  # red

# Options, stores and handles of the builder
streams.stream(ORDERS).deduplicate(by_header("id"), within=minutes(1), late="maybe")  # red
texts.join(names, both, execution="fast")  # red
texts.group_by_key().count(execution="fast")  # red
texts.group_by_key().windowed_by(MINUTE, execution="fast")  # red
texts.repartition(partitions="4")  # red
texts.repartition(partitioner="murmur2")  # red
names.map_values(len, store=ROWS_OF_TEXT)  # red
names.join(names, both, store=timestamped_store("j", key=INT64, value=TEXT))  # red
rates.map_values(halve)  # red
rates.filter(lambda _, rate: rate.upper())  # red
texts.process_with(numbers, Halve)  # red
texts.process_with(texts, Pairs)  # red
numbers_by_parity.reduce(lambda one, two: one + two)  # red
numbers_by_parity.over(lambda number: number.upper())  # red
names.group_by(lambda _, name: len(name)).over(len).aggregate(max_(INT64))  # red
texts.node().builder.build()  # red
streams.from_node(texts.node(), key=INT64)  # red
streams.global_table(TEXTS, store=timestamped_store("t", key=INT64, value=TEXT))  # red
streams.global_table(TEXTS, ttl=days(1))  # red
classes(Order)  # red
classes(Order, "Refund")  # red
