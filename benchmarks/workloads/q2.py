"""Q2: filter. The bids on every 123rd auction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.suite.bids import BID, BIDS
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import TEXT, Topic, Topology, TopologyBuilder, filter_

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVERY = 123


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q2")
    bids = builder.add_source("bids", Topic(source, TEXT, BID))
    chosen = builder.add_processor("choose", filter_(lambda _, bid: bid.auction % EVERY == 0), bids)
    builder.add_sink("bids-out", Topic(sink, TEXT, BID), chosen)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql.functions import from_json

    fields = "auction BIGINT, bidder BIGINT, price BIGINT, dateTime BIGINT"
    bids = rows.select("key", from_json("value", fields).alias("bid")).select("key", "bid.*")
    return bids.where(bids.auction % EVERY == 0), "append"


def expected(table: pa.Table) -> Expected:
    names = ("key", "auction", "timestamp", "price")
    columns = (table.column(name).to_pylist() for name in names)
    return {
        (key, time, 0): (price, time)
        for key, auction, time, price in zip(*columns, strict=True)
        if auction % EVERY == 0
    }


WORKLOAD = Workload(
    name="Q2",
    title="NEXMark Q2, filter: bids on some auctions",
    dataset=BIDS,
    records=3_000_000,
    shape="record",
    expected=expected,
    topology=topology,
    spark=spark,
    by_record=False,
)
