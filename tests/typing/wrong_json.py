"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from kstreams import TEXT, Serde, Topic, TopologyBuilder
from kstreams_json import json_serde
from tests.typing.typed_json import Order, Refund

refunds: Serde[Refund] = json_serde(Order)  # red
topic: Topic[str, Refund] = Topic("orders", key=TEXT, value=json_serde(Order))  # red
json_serde(Order).serialize(Refund(1))  # red
json_serde(Order).deserialize("{}")  # red
json_serde(Order, strict="yes")  # red

b = TopologyBuilder("wrong")
orders = b.add_source("orders", Topic("orders", key=TEXT, value=json_serde(Order)))
b.add_sink("s", Topic("refunds", key=TEXT, value=json_serde(Refund)), orders)  # red
b.repartition("r", orders, key=TEXT, value=json_serde(Refund))  # red
