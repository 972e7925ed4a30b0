"""Q11: user sessions. How many bids has a bidder made between two pauses of 10 s?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.suite.bids import BID, BIDS
from benchmarks.suite.plain import sessions
from benchmarks.suite.workload import Execution, Results, Workload
from kstreams import INT64, NONE, TEXT, Topic, Topology, TopologyBuilder, map_
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.stores import session_store
from kstreams.windows import SessionWindows, windowed, windowed_aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Records of different partitions are out of order after the shuffle, even in the same batch.
VISITS = SessionWindows(seconds(10), grace=seconds(60))


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q11")
    bids = builder.add_source("bids", Topic(source, TEXT, BID))
    bidders = builder.add_processor("bidder", map_(lambda _, b: (str(b.bidder), None)), bids)
    bidders = builder.repartition("by-bidder", bidders, key=TEXT, value=NONE)
    store = session_store("visits", key=TEXT, value=INT64)
    supplier = windowed_aggregate(VISITS, count(), store=store, execution=execution)
    visits = builder.add_processor("count", supplier, bidders)
    out = Topic(sink, windowed(TEXT, VISITS), INT64, nulls="pass")
    builder.add_sink("visits-out", out, visits)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f

    gap_ms = 10_000  # Spark's sessions include a record exactly at the end of the gap
    bidder = f.get_json_object("value", "$.bidder").alias("key")
    counts = (
        rows.select("timestamp", bidder)
        .withWatermark("timestamp", "60 seconds")
        .groupBy("key", f.session_window("timestamp", f"{gap_ms} milliseconds"))
        .agg(f.count("*").alias("value"))
    )
    start = f.unix_millis("session_window.start").alias("start")
    end = (f.unix_millis("session_window.end") - gap_ms).alias("end")
    return counts.select("key", start, end, "value"), "append"


def settle(results: Results) -> Results:
    """Remove the session of records that only advance stream time."""
    return {key: found for key, found in results.items() if key[0] != b"0"}


WORKLOAD = Workload(
    name="Q11",
    title="NEXMark Q11, bids per session of a bidder",
    dataset=BIDS,
    records=3_000_000,
    shape="session",
    expected=partial(sessions, gap_ms=10_000, by="bidder"),
    topology=topology,
    spark=spark,
    by_record=False,
    settle=settle,
)
