"""W2: running count. How many clicks has each user had so far?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.suite.clicks import CLICKS
from benchmarks.suite.plain import each_key
from benchmarks.suite.workload import Execution, Workload
from kstreams import (
    BYTES,
    INT64,
    TEXT,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    aggregate,
    key_value_store,
    timestamped_store,
)
from kstreams.aggregators import count

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOTALS = key_value_store("totals", key=TEXT, value=INT64)


class Count(FixedKeyProcessor[str, bytes, int]):
    """Typed processor with one call per record; forwards every update."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.totals = context, context.store(TOTALS)

    def process(self, record: Record[str, bytes]) -> None:
        total = (self.totals.get(record.key) or 0) + 1
        self.totals.put(record.key, total)
        self.context.forward(record.with_value(total))


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("w2")
    clicks = builder.add_source("clicks", Topic(source, TEXT, BYTES))
    if execution == "records":
        totals = builder.add_processor("count", Count, clicks, stores=[TOTALS])
    else:
        store = timestamped_store("totals", key=TEXT, value=INT64)
        totals = builder.add_processor(
            "count", aggregate(count(), store=store, execution=execution), clicks
        )
    builder.add_sink("totals-out", Topic(sink, TEXT, INT64), totals)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql.functions import count

    return rows.groupBy("key").agg(count("*").alias("value")), "update"


WORKLOAD = Workload(
    name="W2",
    title="running count per key",
    dataset=CLICKS,
    records=5_000_000,
    shape="plain",
    expected=each_key,
    topology=topology,
    spark=spark,
)
