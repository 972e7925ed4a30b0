"""Orders in Protobuf: the total amount of each customer, and the amount per minute.

The total is also a message, kept in a store. The windows read one field of the orders from columns,
without an object for each message.

python examples/protobuf_orders.py
"""

from __future__ import annotations

from orders_pb2 import Order

from kstreams import INT64, TEXT, Record, Topic, TopologyBuilder, aggregate, timestamped_store
from kstreams.aggregators import field, over, reducing, sum_
from kstreams.durations import minutes
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_protobuf import protobuf_serde

ORDER = protobuf_serde(Order)
ORDERS = Topic("orders", key=TEXT, value=ORDER)
TOTALS = Topic("totals", key=TEXT, value=ORDER)
MINUTES = TumblingWindows(minutes(1))
SPENT = Topic("spent", key=windowed(TEXT, MINUTES), value=INT64)


def together(one: Order, other: Order) -> Order:
    """Add an order to the earlier ones; messages are mutable, so return a new one."""
    return Order(customer=one.customer, cents=one.cents + other.cents)


builder = TopologyBuilder("protobuf-orders")
orders = builder.add_source("orders", ORDERS)
total = aggregate(
    reducing(together, ORDER), store=timestamped_store("total", key=TEXT, value=ORDER)
)
builder.add_sink("totals", TOTALS, builder.add_processor("total", total, orders))
minute = windowed_aggregate(
    MINUTES,
    over(field("cents", INT64), sum_(INT64)),
    store=window_store("minute", key=TEXT, value=INT64),
)
builder.add_sink("spent", SPENT, builder.add_processor("minute", minute, orders))
topology = builder.build()

if __name__ == "__main__":
    given = [Order(customer="ann", item="tea", cents=250), Order(customer="ann", cents=100)]
    with TopologyTestDriver(topology) as driver:
        driver.pipe_batch(ORDERS, [Record(o.customer, o, n * 60_000) for n, o in enumerate(given)])
        print("total", driver.read_values(TOTALS)["ann"].cents)
        print("by minute", [record.value for record in driver.read(SPENT)])
