"""Cost of the library's serdes, with and without the frames of a schema registry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from benchmarks.serdes.values import Order, message_class, orders
from devtools.servers.fake_registry import FakeRegistry
from kstreams import TEXT, Serde, Topic
from kstreams.serde import compressed, csv_row, train_dictionary
from kstreams_avro import avro_serde
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde
from kstreams_protobuf import protobuf_serde
from kstreams_registry import SchemaRegistry, confluent, json_schema
from kstreams_xml import xml_serde

__all__ = ("Costs", "costs", "framed_serdes", "micros", "plain_serdes")

Costs = dict[str, float]
"""Microseconds of processor time per record, by operation."""


def plain_serdes() -> dict[str, tuple[Serde[Any], Callable[[Order], Any]]]:
    """Return serdes by format, each with a function that converts an order into its objects."""
    message = message_class()

    def filled(order: Order) -> Any:
        return message(**asdict(order))

    def same(order: Order) -> Order:
        return order

    return {
        "avro": (avro_serde(Order), same),
        "protobuf": (protobuf_serde(message), filled),
        "json-schema": (json_schema(json_serde(Order)), same),
        "json": (json_serde(Order), same),
        "msgpack": (msgpack_serde(Order), same),
        "xml": (xml_serde(Order), same),
        "csv": (csv_row(_Row), _row),
        "gzip(json)": (compressed(json_serde(Order), "gzip"), same),
        "zstd(json)": (compressed(json_serde(Order)), same),
        "zstd(json), dictionary": (_with_dictionary(json_serde(Order)), same),
    }


@dataclass(frozen=True)
class _Row:
    """An order without its list, because CSV has no lists."""

    id: int
    customer: str
    item: str
    count: int
    price: float
    paid: bool


def _row(order: Order) -> _Row:
    return _Row(order.id, order.customer, order.item, order.count, order.price, order.paid)


def _with_dictionary(serde: Serde[Order]) -> Serde[Order]:
    return compressed(serde, dictionary=train_dictionary(serde, orders(5_000)))


def framed_serdes(registry: FakeRegistry) -> dict[str, tuple[Serde[Any], Callable[[Order], Any]]]:
    """Return the serdes with schemas, in Confluent's wire format, each for a topic of its own."""
    asked = SchemaRegistry(registry.url)
    found = {}
    for name in ("avro", "protobuf", "json-schema"):
        serde, made = plain_serdes()[name]
        framed = confluent(serde, asked, register="if-compatible")
        found[name] = Topic(name, TEXT, framed).value, made
    return found


def costs(
    serdes: dict[str, tuple[Serde[Any], Callable[[Order], Any]]], count: int, rounds: int
) -> Iterator[tuple[str, Costs]]:
    """Yield the costs of each serde."""
    given = orders(count)
    for name, (serde, made) in serdes.items():
        yield name, _costs(serde, [made(order) for order in given], rounds)


def _costs(serde: Serde[Any], values: Sequence[Any], rounds: int) -> Costs:
    data = serde.serialize_many(values)
    rows: list[bytes] = data.to_pylist()
    column = serde.to_arrow(data)
    has_columns = serde.plain.arrow_type != pa.binary()
    found = {
        "read objects in bulk": lambda: serde.deserialize_many(data),
        "read one by one": lambda: [serde.deserialize(row) for row in rows],
        "write objects in bulk": lambda: serde.serialize_many(values),
        "write one by one": lambda: [serde.serialize(value) for value in values],
        "one field, as a column": lambda: serde.field(serde.to_arrow(data), "count", pa.int64()),
    }
    if has_columns:
        found["read columns"] = lambda: serde.to_arrow(data)
        found["write columns"] = lambda: serde.from_arrow(column)
    return {name: micros(work, len(values), rounds) for name, work in found.items()}


def micros(work: Callable[[], object], count: int, rounds: int) -> float:
    """Return microseconds of processor time per record, from the fastest of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best / count * 1e6
