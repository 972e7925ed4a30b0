"""W1: tumbling count. How many clicks of each user in each 10 s?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.suite.clicks import CLICKS
from benchmarks.suite.plain import windows
from benchmarks.suite.workload import Execution, Workload
from kstreams import BYTES, INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.stores import window_store
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZE = TumblingWindows(seconds(10))


def topology(source: str, sink: str, execution: Execution) -> Topology:
    return counting(source, sink, execution, repartitions=0)


def counting(source: str, sink: str, execution: Execution, *, repartitions: int) -> Topology:
    """Build a count of clicks per window, after a number of repartitions."""
    builder = TopologyBuilder(f"w1{repartitions or ''}")
    clicks = builder.add_source("clicks", Topic(source, TEXT, BYTES))
    for number in range(repartitions):
        clicks = builder.repartition(f"edge-{number}", clicks, key=TEXT, value=BYTES)
    store = window_store("counts", key=TEXT, value=INT64)
    supplier = windowed_aggregate(SIZE, count(), store=store, execution=execution)
    counts = builder.add_processor("count", supplier, clicks)
    builder.add_sink("counts-out", Topic(sink, windowed(TEXT, SIZE), INT64), counts)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql.functions import count, unix_millis, window

    counts = (
        rows.withWatermark("timestamp", "10 seconds")
        .groupBy("key", window("timestamp", "10 seconds"))
        .agg(count("*").alias("value"))
    )
    start = unix_millis("window.start").alias("start")
    return counts.select("key", start, "value"), "update"


WORKLOAD = Workload(
    name="W1",
    title="tumbling 10 s count per key",
    dataset=CLICKS,
    records=5_000_000,
    shape="window",
    expected=partial(windows, size_ms=10_000, advance_ms=10_000),
    topology=topology,
    spark=spark,
)
