"""W6: impressions of ads with clicks at most 10 s later; inner interval join."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pandas as pd
import pyarrow as pa

from benchmarks.suite.ads import AD_CLICK, AD_CLICKS, IMPRESSION, IMPRESSIONS, AdClick, Impression
from benchmarks.suite.plain_joins import Joined
from benchmarks.suite.plain_joins import within as plain_within
from benchmarks.suite.workload import Execution, Expected, Workload
from kstreams import TEXT, Topic, Topology, TopologyBuilder
from kstreams.durations import seconds
from kstreams.joins import JoinerSupplier, inner, within
from kstreams.stores import join_store
from kstreams_json import json_serde

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ("WORKLOAD", "Pair", "add_join", "joined", "pair", "pairs_of", "spark_join")

AFTER_MS = 10_000
NEAR = within(seconds(0), seconds(10), grace=seconds(2))


class Pair(msgspec.Struct):
    """Times and prices of an impression and a click; 0 and None for a missing side."""

    start: int
    end: int
    value: tuple[int | None, int | None]


def pair(shown: Impression | None, click: AdClick | None) -> Pair:
    """Make a result."""
    return Pair(
        shown.at if shown else 0,
        click.at if click else 0,
        (shown.cost if shown else None, click.price if click else None),
    )


def topology(shown: str, clicks: str, sink: str, execution: Execution) -> Topology:
    return add_join("w6", shown, clicks, sink, inner(pair))


def add_join(
    name: str,
    shown: str,
    clicks: str,
    sink: str,
    joiner: JoinerSupplier[Impression, AdClick, Pair, Any],
) -> Topology:
    """Build impressions joined with clicks."""
    builder = TopologyBuilder(name)
    ads = builder.add_source("shown", Topic(shown, TEXT, IMPRESSION))
    clicked = builder.add_source("clicks", Topic(clicks, TEXT, AD_CLICK))
    store = join_store("pairs", key=TEXT, left=IMPRESSION, right=AD_CLICK)
    pairs = builder.join_streams("pairs", ads, clicked, joiner, within=NEAR, store=store)
    builder.add_sink("pairs-out", Topic(sink, TEXT, json_serde(Pair)), pairs)
    return builder.build()


def spark(shown: DataFrame, clicks: DataFrame) -> tuple[DataFrame, str]:
    return spark_join(shown, clicks, "inner")


def spark_join(shown: DataFrame, clicks: DataFrame, how: str) -> tuple[DataFrame, str]:
    """Join with one of Spark's join types; a missing side has the time 0."""
    from pyspark.sql import functions as f

    def side(rows: DataFrame, name: str, amount: str) -> DataFrame:
        parsed = rows.withWatermark("timestamp", "10 seconds").withColumn(
            "parsed", f.from_json("value", f"{amount} BIGINT, at BIGINT")
        )
        return parsed.select("key", "timestamp", f"parsed.{amount}", "parsed.at").alias(name)

    near = f.expr(
        "ad.key = click.key AND click.timestamp >= ad.timestamp AND "
        f"click.timestamp <= ad.timestamp + INTERVAL {AFTER_MS // 1000} SECONDS"
    )
    both = side(shown, "ad", "cost").join(side(clicks, "click", "price"), near, how)
    return both.select(
        f.coalesce("ad.key", "click.key").alias("key"),
        f.coalesce("ad.at", f.lit(0)).alias("start"),
        f.coalesce("click.at", f.lit(0)).alias("end"),
        f.array("cost", "price").alias("value"),
    ), "append"


def joined(shown: pa.Table, clicks: pa.Table) -> Joined:
    """Return the pairs, and the records without a pair."""
    return plain_within(shown, clicks, before_ms=0, after_ms=AFTER_MS)


def pairs_of(pairs: pd.DataFrame) -> Expected:
    """Return the expected results from pairs."""
    columns = pairs[["key", "timestamp_left", "timestamp_right", "cost", "price"]]
    return {
        (bytes(key), int(shown), int(clicked)): ((int(cost), int(price)), int(max(shown, clicked)))
        for key, shown, clicked, cost, price in columns.itertuples(index=False, name=None)
    }


def expected(shown: pa.Table, clicks: pa.Table) -> Expected:
    return pairs_of(joined(shown, clicks).pairs)


WORKLOAD = Workload(
    name="W6",
    title="impressions with their clicks within 10 s: inner interval join",
    dataset=IMPRESSIONS,
    besides=(AD_CLICKS,),
    shape="event",
    expected=expected,
    topology=topology,
    by_record=False,
    spark=spark,
    records=1_000_000,
)
