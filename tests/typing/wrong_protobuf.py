"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from kstreams import TEXT, Serde, Topic, TopologyBuilder
from kstreams_protobuf import protobuf_serde
from tests.serdes.kstreams_protobuf.money_pb2 import Money
from tests.serdes.kstreams_protobuf.trees_pb2 import Tree

trees: Serde[Tree] = protobuf_serde(Money)  # red
protobuf_serde(int)  # red
protobuf_serde(Money).serialize(Tree())  # red
protobuf_serde(Money).deserialize("text")  # red
cents: int = protobuf_serde(Money).deserialize(b"").cents  # red

b = TopologyBuilder("wrong")
prices = b.add_source("prices", Topic("prices", key=TEXT, value=protobuf_serde(Money)))
b.add_sink("s", Topic("trees", key=TEXT, value=protobuf_serde(Tree)), prices)  # red
