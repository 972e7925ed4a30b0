"""Q5: hot items. Which auction has had the most bids in the last 10 s? Updated every 2 s.

With equal numbers of bids, the auction with the greatest id is the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.suite.bids import BIDS
from benchmarks.suite.greatest import add_greatest, without_closers
from benchmarks.suite.plain import windows
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import BYTES, INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.stores import window_store
from kstreams.windows import HoppingWindows, Windowed, windowed_aggregate
from kstreams_json import json_serde

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LATELY = HoppingWindows(seconds(10), seconds(2))
PAIR = json_serde(tuple[int, int])


def place(key: Windowed[str], bids: int) -> tuple[int, int]:
    return bids, int(key.key) if key.key.isdigit() else 0


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q5")
    bids = builder.add_source("bids", Topic(source, TEXT, BYTES))
    store = window_store("bids", key=TEXT, value=INT64)
    supplier = windowed_aggregate(LATELY, count(), store=store, execution=execution)
    counts = builder.add_processor("count", supplier, bids)
    add_greatest(builder, counts, place, serde=PAIR, sink=sink)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f

    counts = (
        rows.withWatermark("timestamp", "60 seconds")
        .groupBy("key", f.window("timestamp", "10 seconds", "2 seconds"))
        .agg(f.count("*").alias("bids"))
    )
    best = f.max(f.struct("bids", f.col("key").cast("bigint").alias("auction")))
    hot = counts.groupBy("window").agg(best.alias("hot"))
    value = f.array("hot.bids", "hot.auction").alias("value")
    return hot.select(
        f.lit("").alias("key"), f.unix_millis("window.start").alias("start"), value
    ), "append"


def expected(table: pa.Table) -> Expected:
    best: dict[int, tuple[int, int]] = {}
    for (key, start, _), (bids, _) in windows(table, 10_000, 2_000).items():
        best[start] = max(best.get(start, (0, 0)), (bids, int(key)))
    return {(b"", start, 0): (found, None) for start, found in best.items()}


WORKLOAD = Workload(
    name="Q5",
    title="NEXMark Q5, hot items: hopping 10/2 s count, then the maximum of each window",
    dataset=BIDS,
    records=3_000_000,
    shape="window",
    expected=expected,
    topology=topology,
    spark=spark,
    values="json",
    settle=without_closers,
)
