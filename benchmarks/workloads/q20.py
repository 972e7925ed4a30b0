"""Q20: bids joined with their auction, if it has category 10."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.auctions import AUCTION, AUCTIONS_OF_BIDS, CATEGORY, Auction
from benchmarks.suite.bids import BID, BIDS, Bid
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.joins import inner
from kstreams.stores import timestamped_store
from kstreams_json import json_serde

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Offer(msgspec.Struct):
    """A bid with its item: the time of the bid, its price and the item's name."""

    start: int
    value: tuple[str, str]


def offer(bid: Bid, auction: Auction) -> Offer:
    return Offer(bid.dateTime, (str(int(bid.price)), auction.itemName))


def topology(bids: str, auctions: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("q20")
    store = timestamped_store("auctions", key=TEXT, value=AUCTION)
    table = builder.add_table("auctions", Topic(auctions, TEXT, AUCTION), store=store)
    wanted = builder.derive("wanted", table, lambda _, a: a if a.category == CATEGORY else None)
    made = builder.add_source("bids", Topic(bids, TEXT, BID))
    offers = builder.join_table("offer", made, wanted, inner(offer), execution=execution)
    builder.add_sink("offers-out", Topic(sink, TEXT, json_serde(Offer)), offers)
    return builder.build()


def spark(bids: DataFrame, auctions: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f

    bid = bids.withWatermark("timestamp", "10 seconds").withColumn(
        "parsed", f.from_json("value", "price BIGINT, dateTime BIGINT")
    )
    auction = auctions.withWatermark("timestamp", "10 seconds").withColumn(
        "parsed", f.from_json("value", "itemName STRING, category BIGINT")
    )
    wanted = auction.where(f"parsed.category = {CATEGORY}")
    # A bid is on an auction of the last seconds: without a bound, Spark would keep all auctions.
    near = f.expr(
        "bid.key = auction.key AND bid.timestamp >= auction.timestamp AND "
        "bid.timestamp <= auction.timestamp + INTERVAL 10 SECONDS"
    )
    both = bid.alias("bid").join(wanted.alias("auction"), near)
    value = f.array(f.col("bid.parsed.price").cast("string"), "auction.parsed.itemName")
    start = f.col("bid.parsed.dateTime").alias("start")
    return both.select(f.col("bid.key").alias("key"), start, value.alias("value")), "append"


def expected(bids: pa.Table, auctions: pa.Table) -> Expected:
    wanted = auctions.filter(pc.field("category") == CATEGORY)
    items = dict(
        zip(*(wanted.column(name).to_pylist() for name in ("key", "itemName")), strict=True)
    )
    columns = (bids.column(name).to_pylist() for name in ("key", "timestamp", "price"))
    return {
        (key, time, 0): ((str(price), items[key]), time)
        for key, time, price in zip(*columns, strict=True)
        if key in items
    }


WORKLOAD = Workload(
    name="Q20",
    title="NEXMark Q20, bids with their auction of one category: stream-table join",
    dataset=BIDS,
    besides=(AUCTIONS_OF_BIDS,),
    shape="event",
    expected=expected,
    topology=topology,
    spark=spark,
)
