"""A custom workload for the benchmark suite: data, topology and expected results in one file.

    python -m benchmarks run --workload examples/custom_benchmark.py

`spark=` would add a Spark query for comparison, as in `benchmarks/workloads/w1.py`.
"""

from __future__ import annotations

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

MINUTE = TumblingWindows(minutes(1))


class Click(msgspec.Struct):
    """The required fields of a click."""

    amount: int


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("custom")
    clicks = builder.add_source("clicks", Topic(source, TEXT, json_serde(Click)))
    amount = over(field("amount", INT64), max_(INT64))
    store = window_store("largest", key=TEXT, value=INT64)
    supplier = windowed_aggregate(MINUTE, amount, store=store, execution=execution)
    largest = builder.add_processor("largest", supplier, clicks)
    builder.add_sink("out", Topic(sink, windowed(TEXT, MINUTE), INT64), largest)
    return builder.build()


def expected(table: pa.Table) -> Expected:
    found: dict[tuple[bytes, int, int], int] = {}
    for click in table.select(["key", "timestamp", "amount"]).to_pylist():
        window = click["key"], click["timestamp"] // 60_000 * 60_000, 0
        found[window] = max(found.get(window, 0), click["amount"])
    return {window: (amount, None) for window, amount in found.items()}


WORKLOAD = Workload(
    name="largest",
    title="largest click per user and minute",
    dataset=CLICKS,
    shape="window",
    expected=expected,
    topology=topology,
    records=300_000,
)
