"""A workload of one's own for the benchmark suite: one file, run on this library and on Spark.

    python -m benchmarks run --workload examples/own_benchmark.py

Data, expected results, the topology and (if Spark can) Spark's query are all there is to it;
without `spark` that peer shows a dash. The records are the suite's clicks; a `Dataset` of your
own is a function that draws a table of keys, values and times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from benchmarks.suite.clicks import CLICKS
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import INT64, TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import field, max_, over
from kstreams.durations import minutes
from kstreams.stores import window_store
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_json import json_serde

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MINUTE = TumblingWindows(minutes(1))


class Click(msgspec.Struct):
    """What is needed of a click."""

    amount: int


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("own")
    clicks = builder.add_source("clicks", Topic(source, TEXT, json_serde(Click)))
    largest: Any = builder.add_processor(
        "largest",
        windowed_aggregate(
            MINUTE,
            over(field("amount", INT64), max_(INT64)),
            store=window_store("largest", key=TEXT, value=INT64),
            execution=execution,
        ),
        clicks,
    )
    builder.add_sink("out", Topic(sink, windowed(TEXT, MINUTE), INT64), largest)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f  # noqa: PLC0415  # peers without Spark read this too

    amount = f.get_json_object("value", "$.amount").cast("bigint")
    largest = (
        rows.withWatermark("timestamp", "10 seconds")
        .groupBy("key", f.window("timestamp", "1 minute"))
        .agg(f.max(amount).alias("value"))
    )
    return largest.select("key", f.unix_millis("window.start").alias("start"), "value"), "update"


def expected(table: pa.Table) -> Expected:
    names = ("key", "timestamp", "amount")
    found: dict[tuple[bytes, int, int], int] = {}
    for user, time, amount in zip(*(table.column(n).to_pylist() for n in names), strict=True):
        window = user, time // 60_000 * 60_000, 0
        found[window] = max(found.get(window, 0), amount)
    return {window: (amount, None) for window, amount in found.items()}


WORKLOAD = Workload(
    name="largest",
    title="largest click per user and minute",
    dataset=CLICKS,
    shape="window",
    expected=expected,
    topology=topology,
    spark=spark,
    records=300_000,
)
