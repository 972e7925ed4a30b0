"""W3: hopping sum. The total amount of each user's clicks in the last minute."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from benchmarks.suite.clicks import CLICKS
from benchmarks.suite.plain import windows
from benchmarks.suite.workload import Execution, Workload
from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import field, over, sum_
from kstreams.durations import seconds
from kstreams.stores import window_store
from kstreams.windows import HoppingWindows, windowed, windowed_aggregate
from kstreams_json import json_serde

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MINUTES = HoppingWindows(seconds(60), seconds(10))


class Click(msgspec.Struct):
    """The amount in a click's JSON."""

    amount: int


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("w3")
    clicks = builder.add_source("clicks", Topic(source, TEXT, json_serde(Click)))
    store = window_store("sums", key=TEXT, value=INT64)
    total = over(field("amount", INT64), sum_(INT64))
    supplier = windowed_aggregate(MINUTES, total, store=store, execution=execution)
    sums = builder.add_processor("sum", supplier, clicks)
    builder.add_sink("sums-out", Topic(sink, windowed(TEXT, MINUTES), INT64), sums)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql.functions import col, from_json, sum, unix_millis, window  # noqa: A004

    parsed = rows.select("key", "timestamp", from_json("value", "amount BIGINT").alias("click"))
    sums = (
        parsed.withWatermark("timestamp", "10 seconds")
        .groupBy("key", window("timestamp", "60 seconds", "10 seconds"))
        .agg(sum(col("click.amount")).alias("value"))
    )
    return sums.select("key", unix_millis("window.start").alias("start"), "value"), "update"


WORKLOAD = Workload(
    name="W3",
    title="hopping 60/10 s sum of a JSON field per key",
    dataset=CLICKS,
    records=2_000_000,
    shape="window",
    expected=partial(windows, size_ms=60_000, advance_ms=10_000, column="amount"),
    topology=topology,
    spark=spark,
)
