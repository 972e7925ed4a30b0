"""Flows' join: several topics update one state machine per order.

Each topic has a function from old state and record to new state; None deletes the order.

python examples/order_state.py
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, timestamped_store
from kstreams.emit import each_update
from kstreams.testing import TopologyTestDriver
from kstreams.topology import feed
from kstreams_json import json_serde


@dataclass(frozen=True)
class Order:
    """The state of an order."""

    paid: int = 0
    shipped_by: str | None = None


PAYMENTS = Topic("payments", key=TEXT, value=INT64)
SHIPMENTS = Topic("shipments", key=TEXT, value=TEXT)
STATES = Topic("orders", key=TEXT, value=json_serde(Order), nulls="pass")
ORDERS = timestamped_store("orders", key=TEXT, value=json_serde(Order))


def on_payment(old: Order | None, record: Record[str, int]) -> Order:
    """Add a payment."""
    order = old or Order()
    return replace(order, paid=order.paid + record.value)


def on_shipment(old: Order | None, record: Record[str, str]) -> Order | None:
    """Set the shipper; a returned order is deleted."""
    return None if record.value == "returned" else replace(old or Order(), shipped_by=record.value)


builder = TopologyBuilder("order-state")
payments = builder.add_source("payments", PAYMENTS)
shipments = builder.add_source("shipments", SHIPMENTS)
orders = builder.cogroup(
    "order", feed(payments, on_payment), feed(shipments, on_shipment), store=ORDERS
)
builder.add_sink("out", STATES, builder.to_stream("states", orders, emit=each_update()))
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        driver.pipe(PAYMENTS, "o1", 20)
        driver.pipe(SHIPMENTS, "o1", "post")
        driver.pipe(PAYMENTS, "o1", 5)
        driver.pipe(SHIPMENTS, "o1", "returned")
        for state in driver.read(STATES):
            print(state.key, state.value)
