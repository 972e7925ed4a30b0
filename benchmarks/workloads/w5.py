"""W5: views by region. How many pages have users of each region viewed in each 10 s?

The region is the user's region at the time of the view; 2 % of the records are users who move.
Spark joins with a static side, and Bytewax with a loaded copy: both use the users' regions before
the first view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.suite.dataset import START_MS
from benchmarks.suite.plain_joins import as_of
from benchmarks.suite.users import USER, USERS, VIEWS, User
from benchmarks.suite.workload import Apart, Execution, Expected, Results, Workload
from kstreams import BYTES, INT64, NONE, TEXT, Topic, Topology, TopologyBuilder, map_
from kstreams.aggregators import count
from kstreams.durations import seconds
from kstreams.joins import left
from kstreams.stores import timestamped_store, window_store
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIZE_MS = 10_000
SIZE = TumblingWindows(seconds(10), grace=seconds(60))
NOWHERE = "?"
"""The region of unknown users: those of records that only advance stream time."""


def region_of(_: bytes, user: User | None) -> str:
    return user.region if user else NOWHERE


def topology(views: str, users: str, sink: str, execution: Execution) -> Topology:
    builder = TopologyBuilder("w5")
    store = timestamped_store("users", key=TEXT, value=USER)
    table = builder.add_table("users", Topic(users, TEXT, USER), store=store)
    seen = builder.add_source("views", Topic(views, TEXT, BYTES))
    regions = builder.join_table("region", seen, table, left(region_of), execution=execution)
    by_region = builder.add_processor("keyed", map_(lambda _, region: (region, None)), regions)
    by_region = builder.repartition("by-region", by_region, key=TEXT, value=NONE)
    counts = window_store("counts", key=TEXT, value=INT64)
    supplier = windowed_aggregate(SIZE, count(), store=counts, execution=execution)
    counted = builder.add_processor("count", supplier, by_region)
    builder.add_sink("counts-out", Topic(sink, windowed(TEXT, SIZE), INT64), counted)
    return builder.build()


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
    """Count by the regions of users before the first view."""
    return _counted(as_of(views, users.filter(pc.field("timestamp") < START_MS)))


def settle(results: Results) -> Results:
    """Remove the regions of records that only advance stream time."""
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
    topology=topology,
    spark=spark,
    settle=settle,
    records=2_000_000,
    apart=(
        Apart(
            ("spark", "bytewax", "bytewax-2"),
            "users as they are before the first view: it does not follow their moves",
            as_loaded,
        ),
    ),
)
