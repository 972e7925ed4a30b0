"""A protobuf serde has the class of its argument, and so have the messages in a topology."""

from __future__ import annotations

from typing_extensions import assert_type

from kstreams import INT64, TEXT, Node, Serde, Topic, TopologyBuilder, map_values
from kstreams_protobuf import ProtobufSerde, protobuf_serde
from tests.serdes.kstreams_protobuf.money_pb2 import Money

MONEY = protobuf_serde(Money)
assert_type(MONEY, ProtobufSerde[Money])
assert_type(MONEY.deserialize(b""), Money)
assert_type(MONEY.deserialize(b"").units, int)
serde: Serde[Money] = MONEY

builder = TopologyBuilder("prices")
prices = builder.add_source("prices", Topic("prices", key=TEXT, value=protobuf_serde(Money)))
assert_type(prices, Node[str, Money])
units = builder.add_processor("units", map_values(lambda price: price.units), prices)
builder.add_sink("out", Topic("out", key=TEXT, value=INT64), units)
