"""Q7: highest bid. Which bid of each 10 s is the highest?

With equal prices, the bid with the greatest auction, then bidder, is the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from benchmarks.suite.bids import BID, BIDS, Bid
from benchmarks.suite.greatest import add_greatest, without_closers
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.aggregators import over, reducing
from kstreams.durations import seconds
from kstreams.stores import window_store
from kstreams.windows import TumblingWindows, Windowed, windowed_aggregate
from kstreams_json import json_serde

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZE = TumblingWindows(seconds(10))
Offer = tuple[int, int, int]
OFFER = json_serde(tuple[int, int, int])


def offer(bid: Bid) -> Offer:
    return int(bid.price), bid.auction, bid.bidder


def place(_: Windowed[str], highest: Offer) -> Offer:
    return highest


def topology(source: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q7")
    bids = builder.add_source("bids", Topic(source, TEXT, BID))
    store = window_store("of-auctions", key=TEXT, value=OFFER)
    highest = over(offer, reducing(max, OFFER))
    supplier = windowed_aggregate(SIZE, highest, store=store, execution=execution)
    of_auctions = builder.add_processor("of-auctions", supplier, bids)
    add_greatest(builder, of_auctions, place, serde=OFFER, sink=sink)
    return builder.build()


def spark(rows: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f

    fields = "auction BIGINT, bidder BIGINT, price BIGINT"
    bids = rows.select("timestamp", f.from_json("value", fields).alias("bid"))
    highest = (
        bids.withWatermark("timestamp", "60 seconds")
        .groupBy(f.window("timestamp", "10 seconds"))
        .agg(f.max(f.struct("bid.price", "bid.auction", "bid.bidder")).alias("best"))
    )
    value = f.array("best.price", "best.auction", "best.bidder").alias("value")
    start = f.unix_millis("window.start").alias("start")
    return highest.select(f.lit("").alias("key"), start, value), "update"


def expected(table: pa.Table) -> Expected:
    names = ("timestamp", "price", "auction", "bidder")
    columns = (table.column(name).to_pylist() for name in names)
    best: dict[int, Offer] = {}
    for time, *bid in zip(*columns, strict=True):
        start = time // 10_000 * 10_000
        best[start] = max(best.get(start, (0, 0, 0)), (bid[0], bid[1], bid[2]))
    return {(b"", start, 0): (found, None) for start, found in best.items()}


WORKLOAD = Workload(
    name="Q7",
    title="NEXMark Q7, highest bid of each 10 s",
    dataset=BIDS,
    records=3_000_000,
    shape="window",
    expected=expected,
    topology=topology,
    spark=spark,
    values="json",
    by_record=False,
    settle=without_closers,
)
