"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from kstreams import TEXT, Serde, Topic
from kstreams_avro import avro_serde
from tests.typing.typed_avro import Order, Refund

refunds: Serde[Refund] = avro_serde(Order)  # red
topic: Topic[str, Refund] = Topic("orders", key=TEXT, value=avro_serde(Order))  # red
avro_serde(Order).serialize(Refund(1))  # red
avro_serde(Order).deserialize("{}")  # red
avro_serde(Order, schema=3)  # red
avro_serde()  # red
