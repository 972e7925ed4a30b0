"""W5: views by region. How many pages have users of each region seen in each 10 s?

The region is that which the user has at the time of the view; 2 % of the records are users who
move. Spark joins with a static side, and Bytewax with what it has loaded: both take users as they
are before the first view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.dataset import START_MS
from benchmarks.suite.plain_joins import as_of
from benchmarks.suite.users import USERS, VIEWS
from benchmarks.suite.workload import Apart, Expected, Results, Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZE_MS = 10_000
NOWHERE = "?"
"""The region of what no user is known of: the records that only move time."""


def spark(views: DataFrame, users: DataFrame) -> tuple[DataFrame, str]:
    from pyspark.sql import functions as f

    loaded = users.where(f.unix_millis("timestamp") < START_MS)
    regions = loaded.select("key", f.get_json_object("value", "$.region").alias("region"))
    region = f.coalesce("region", f.lit(NOWHERE)).alias("key")
    counts = (
        views.withWatermark("timestamp", "60 seconds")
        .join(regions.persist(), "key", "left")
        .groupBy(region, f.window("timestamp", "10 seconds"))
        .agg(f.count("*").alias("value"))
    )
    return counts.select("key", f.unix_millis("window.start").alias("start"), "value"), "update"


def expected(views: pa.Table, users: pa.Table) -> Expected:
    return _counted(as_of(views, users))


def as_loaded(views: pa.Table, users: pa.Table) -> Expected:
    """Count by the regions that users have before the first view."""
    return _counted(as_of(views, users.filter(pc.field("timestamp") < START_MS)))


def settle(results: Results) -> Results:
    """Leave out the regions of records that only move time."""
    return {key: found for key, found in results.items() if key[0] != NOWHERE.encode()}


def _counted(seen: pd.DataFrame) -> Expected:
    starts = seen["timestamp"] // SIZE_MS * SIZE_MS
    groups = seen.assign(start=starts).groupby(["region", "start"])["timestamp"]
    return {
        (region.encode(), int(start), 0): (int(views), int(last))
        for (region, start), views, last in groups.agg(["size", "max"]).itertuples(name=None)
    }


WORKLOAD = Workload(
    name="W5",
    title="views by the region of their user: stream-table join, repartition, tumbling 10 s count",
    dataset=VIEWS,
    besides=(USERS,),
    loaded=(0,),
    shape="window",
    expected=expected,
    spark=spark,
    settle=settle,
    apart=(
        Apart(
            ("spark", "bytewax", "bytewax-2"),
            "users as they are before the first view: it does not follow their moves",
            as_loaded,
        ),
    ),
)
