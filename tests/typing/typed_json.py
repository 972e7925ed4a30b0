"""A JSON serde has the type of its argument."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from typing_extensions import assert_type

from kstreams import TEXT, Node, Serde, Topic, TopologyBuilder
from kstreams_json import json_serde


@dataclass
class Order:
    """A value."""

    id: int


@dataclass
class Refund:
    """Another value."""

    id: int


class Row(TypedDict):
    """A value that is a dictionary."""

    id: int


assert_type(json_serde(Order), Serde[Order])
assert_type(json_serde(Row), Serde[Row])
assert_type(json_serde(list[Order]), Serde[list[Order]])
assert_type(json_serde(object), Serde[object])
either: Serde[Order | Refund] = json_serde(Order | Refund)

builder = TopologyBuilder("orders")
topic = Topic("orders", key=TEXT, value=json_serde(Order))
assert_type(topic, Topic[str, Order])
orders = builder.add_source("orders", topic)
assert_type(orders, Node[str, Order])
