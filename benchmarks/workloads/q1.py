"""Q1: map. The price of each bid in euros."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa

from benchmarks.suite.bids import BID, BIDS, Bid
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import TEXT, Topic, Topology, TopologyBuilder, map_values

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EUROS = 0.908


def in_euros(bid: Bid) -> Bid:
    return msgspec.structs.replace(bid, price=bid.price * EUROS)


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q1")
    bids = builder.add_source("bids", Topic(source, TEXT, BID))
    converted = builder.add_processor("convert", map_values(in_euros), bids)
    builder.add_sink("bids-out", Topic(sink, TEXT, BID), converted)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql.functions import from_json

    fields = "auction BIGINT, bidder BIGINT, price DOUBLE, dateTime BIGINT"
    bids = rows.select("key", from_json("value", fields).alias("bid")).select("key", "bid.*")
    return bids.withColumn("price", bids.price * EUROS), "append"


def expected(table: pa.Table) -> Expected:
    columns = (table.column(name).to_pylist() for name in ("key", "timestamp", "price"))
    return {
        (key, time, 0): (price * EUROS, time) for key, time, price in zip(*columns, strict=True)
    }


WORKLOAD = Workload(
    name="Q1",
    title="NEXMark Q1, map: prices converted",
    dataset=BIDS,
    records=3_000_000,
    shape="record",
    expected=expected,
    topology=topology,
    spark=spark,
    by_record=False,
)
