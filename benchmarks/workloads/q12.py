"""Q12: processing-time windows. How many bids of a bidder are processed in each 10 s?

The windows are based on the clock, so only each bidder's sum over all windows is deterministic, and
the closing time of the last window is unrelated to speed.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.suite.bids import BID, BIDS
from benchmarks.suite.workload import Execution, Expected, Results, Workload
from kstreams import (
    INT64,
    NONE,
    TEXT,
    Topic,
    Topology,
    TopologyBuilder,
    map_,
)
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.stores import window_store
from kstreams.topology import wall_clock
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZE = TumblingWindows(seconds(10))


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q12")
    bids = builder.add_source("bids", Topic(source, TEXT, BID), event_time=wall_clock())
    bidders = builder.add_processor("bidder", map_(lambda _, b: (str(b.bidder), None)), bids)
    bidders = builder.repartition("by-bidder", bidders, key=TEXT, value=NONE)
    store = window_store("counts", key=TEXT, value=INT64)
    supplier = windowed_aggregate(SIZE, count(), store=store, execution=execution)
    counts = builder.add_processor("count", supplier, bidders)
    builder.add_sink("counts-out", Topic(sink, windowed(TEXT, SIZE), INT64), counts)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f

    bidder = f.get_json_object("value", "$.bidder").alias("key")
    counts = (
        rows.select(bidder, f.current_timestamp().alias("now"))
        .groupBy("key", f.window("now", "10 seconds"))
        .agg(f.count("*").alias("value"))
    )
    return counts.select("key", f.unix_millis("window.start").alias("start"), "value"), "update"


def expected(table: pa.Table) -> Expected:
    bidders = Counter(table.column("bidder").to_pylist())
    return {(str(bidder).encode(), 0, 0): (bids, None) for bidder, bids in bidders.items()}


def settle(results: Results) -> Results:
    """Add up the windows of each bidder, without the one that only advances stream time."""
    sums: Counter[bytes] = Counter()
    for (bidder, _, _), (bids, _) in results.items():
        if bidder != b"0":
            sums[bidder] += bids
    return {(bidder, 0, 0): (bids, 0) for bidder, bids in sums.items()}


WORKLOAD = Workload(
    name="Q12",
    title="NEXMark Q12, bids per bidder in 10 s of processing time",
    dataset=BIDS,
    records=3_000_000,
    shape="window",
    expected=expected,
    topology=topology,
    spark=spark,
    by_record=False,
    settle=settle,
    by_clock=True,
)
