"""Orders in protobuf on Spark: a script next to its generated module, run by a test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from orders_pb2 import Order
from protobuf_orders import ORDERS, SPENT, TOTALS, topology

from kstreams import TEXT, App, Embedded, Emitter, Serde, View, timestamped_store
from kstreams_protobuf import descriptor_serde

home = Path(sys.argv[1])
topics = Embedded(home / "topics")
for topic in (ORDERS, TOTALS, SPENT):
    topics.admin().create(topic.name, partitions=2)
with Emitter(ORDERS, topics) as emitter:
    emitter.emit_many([(name, Order(customer=name, cents=n)) for n, name in enumerate("abcab")])
App(topology, topics, checkpoint=home / "checkpoint").run(until="end")

# The same messages by their descriptors: no class is generated, and pickles contain the
# descriptors.
serde: Serde[Any] = descriptor_serde(home / "orders.desc", "shop.v1.Order")
assert serde.name == ORDERS.value.name
with View(home / "checkpoint", timestamped_store("total", key=TEXT, value=serde)) as totals:
    for name, (value, _) in sorted(totals.items()):
        sys.stdout.write(f"{name} {value.customer} {value.cents}\n")
