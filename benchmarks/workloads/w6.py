"""W6: impressions of ads with the clicks on them, 10 s later at most; inner interval join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from benchmarks.suite.ads import AD_CLICKS, IMPRESSIONS
from benchmarks.suite.plain_joins import Joined, within
from benchmarks.suite.workload import Expected, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ("WORKLOAD", "joined", "pairs_of", "spark_join")

AFTER_MS = 10_000


def spark(shown: DataFrame, clicks: DataFrame) -> tuple[DataFrame, str]:
    return spark_join(shown, clicks, "inner")


def spark_join(shown: DataFrame, clicks: DataFrame, how: str) -> tuple[DataFrame, str]:
    """Join in one of Spark's ways; what has no partner has the time 0 for it."""
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
    """Return pairs and what is in none."""
    return within(shown, clicks, before_ms=0, after_ms=AFTER_MS)


def pairs_of(pairs: pd.DataFrame) -> Expected:
    """Return the results of pairs."""
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
    spark=spark,
    records=600_000,
)
