"""W4: sessions. How many clicks has each user between two pauses of 30 s?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.suite.clicks import CLICKS
from benchmarks.suite.plain import sessions
from benchmarks.suite.workload import Execution, Workload
from kstreams import BYTES, INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.stores import session_store
from kstreams.windows import SessionWindows, windowed, windowed_aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VISITS = SessionWindows(seconds(30))


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("w4")
    clicks = builder.add_source("clicks", Topic(source, TEXT, BYTES))
    store = session_store("visits", key=TEXT, value=INT64)
    supplier = windowed_aggregate(VISITS, count(), store=store, execution=execution)
    visits = builder.add_processor("count", supplier, clicks)
    out = Topic(sink, windowed(TEXT, VISITS), INT64, nulls="pass")
    builder.add_sink("visits-out", out, visits)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql.functions import col, count, session_window, unix_millis

    gap_ms = 30_000  # Spark's sessions include a record exactly at the end of the gap
    counts = (
        rows.withWatermark("timestamp", "10 seconds")
        .groupBy("key", session_window("timestamp", f"{gap_ms} milliseconds"))
        .agg(count("*").alias("value"))
    )
    start = unix_millis("session_window.start").alias("start")
    end = (unix_millis("session_window.end") - gap_ms).alias("end")
    return counts.select("key", start, end, col("value")), "append"


WORKLOAD = Workload(
    name="W4",
    title="count per session of 30 s gap",
    dataset=CLICKS,
    shape="session",
    expected=partial(sessions, gap_ms=30_000),
    topology=topology,
    spark=spark,
)
