"""An Avro serde has the type of its argument; without an argument it accepts any value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from typing_extensions import assert_type

from kstreams import TEXT, Node, Serde, Topic, TopologyBuilder
from kstreams.serde import Schema, SchemaSerde
from kstreams_avro import avro_schema, avro_serde


@dataclass
class Order:
    """A value."""

    id: int


class Refund(NamedTuple):
    """Another value."""

    id: int


assert_type(avro_serde(Order), SchemaSerde[Order])
assert_type(avro_serde(Refund, namespace="shop"), SchemaSerde[Refund])
assert_type(avro_serde(Order, schema=Path("order.avsc")), SchemaSerde[Order])
assert_type(avro_serde(list[Order]), SchemaSerde[list[Order]])
assert_type(avro_serde(schema={"type": "string"}), SchemaSerde[Any])
assert_type(avro_schema('"long"'), Schema)
assert_type(avro_serde(Order).reading(avro_schema('"long"')), Serde[Order])
either: Serde[Order | Refund] = avro_serde(Order | Refund)

builder = TopologyBuilder("orders")
topic = Topic("orders", key=TEXT, value=avro_serde(Order))
assert_type(topic, Topic[str, Order])
orders = builder.add_source("orders", topic)
assert_type(orders, Node[str, Order])
