"""Flows' migration: two clusters contain the same orders for a while; each order counts once.

While producers move from one topic to another, a mirror copies the old topic, and the app reads
both. A header identifies the order; intakes write such a header, `kstreams.intakes.MESSAGE_ID`.
`within` is the maximum delay of a copy. Run: python examples/deduplicated_migration.py
"""

from __future__ import annotations

from kstreams import BYTES, INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import sum_
from kstreams.durations import hours
from kstreams.operators import aggregate, by_header, deduplicate
from kstreams.processors import Headers
from kstreams.stores import timestamped_store
from kstreams.testing import TopologyTestDriver

OLD = Topic("orders", key=TEXT, value=INT64)
NEW = Topic("shop.orders.v2", key=TEXT, value=INT64)
SPENT = timestamped_store("spent", key=TEXT, value=INT64)

builder = TopologyBuilder("spending")
old, new = builder.add_source("old", OLD), builder.add_source("new", NEW)
once = deduplicate(by_header("order-id"), id=BYTES, within=hours(24), store="seen")
orders = builder.add_processor("once", once, old, new)
builder.add_processor("spent", aggregate(sum_(INT64), store=SPENT), orders)
topology = builder.build()


def order(identity: str) -> Headers:
    return (("order-id", identity.encode()),)


if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=2) as driver:
        driver.pipe(OLD, "ann", 5, headers=order("1"))
        driver.pipe(OLD, "bob", 7, headers=order("2"))
        driver.pipe(NEW, "ann", 5, headers=order("1"))  # a copy by the mirror
        driver.pipe(NEW, "bob", 7, headers=order("2"))
        driver.pipe(NEW, "ann", 4, headers=order("3"))  # from a producer that has moved
        print({customer: cents for customer, (cents, _) in driver.store_contents(SPENT).items()})
        print("dropped", dict(driver.dropped))
