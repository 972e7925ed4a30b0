"""Count orders per minute, publish each count once, and keep late records.

python examples/late_records.py
"""

from __future__ import annotations

from kstreams import INT64, TEXT, Topic, TopologyBuilder, map_values
from kstreams.aggregators import count
from kstreams.durations import minutes, seconds
from kstreams.emit import on_close
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import Late, TumblingWindows, split_late, windowed, windowed_aggregate

MINUTES = TumblingWindows(minutes(1), grace=seconds(10))
ORDERS = Topic("orders", key=TEXT, value=TEXT)
COUNTS = Topic("orders-per-minute", key=windowed(TEXT, MINUTES), value=INT64)
LATE = Topic("late-orders", key=TEXT, value=TEXT)


def explain(late: Late[str]) -> str:
    return f"{late.value} came {late.lateness_ms} ms too late"


builder = TopologyBuilder("late-records")
orders = builder.add_source("orders", ORDERS)
counting = windowed_aggregate(
    MINUTES, count(), store=window_store("counts", key=TEXT, value=INT64), emit=on_close()
)
counts, late = split_late(builder, "count", counting, orders)
builder.add_sink("out", COUNTS, counts)
builder.add_sink("late-out", LATE, builder.add_processor("explain", map_values(explain), late))
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        driver.pipe(ORDERS, "ann", "tea", timestamp=1_000)
        driver.pipe(ORDERS, "ann", "milk", timestamp=65_000)  # the first minute is over, not closed
        driver.pipe(ORDERS, "ann", "cake", timestamp=30_000)  # so this order counts
        driver.pipe(ORDERS, "ann", "jam", timestamp=70_000)  # ends the grace: the count comes
        driver.pipe(ORDERS, "ann", "salt", timestamp=30_000)  # too late
        for record in driver.read(COUNTS):
            print(f"{record.key.key}, minute from {record.key.start_ms} ms: {record.value} orders")
        for lost in driver.read(LATE):
            print(lost.value)
