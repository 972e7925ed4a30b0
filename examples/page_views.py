"""Kafka Streams' page views by region: a stream joined with a table, counted by window.

A view counts for the region of its user at the time of the view.

python examples/page_views.py
"""

from __future__ import annotations

from kstreams import INT64, TEXT, Topic, TopologyBuilder, rekey
from kstreams.aggregators import count
from kstreams.durations import minutes, seconds
from kstreams.joins import left
from kstreams.stores import timestamped_store, window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate

MINUTE = TumblingWindows(minutes(1), grace=seconds(10))
VIEWS = Topic("page-views", key=TEXT, value=TEXT)
USERS = Topic("user-regions", key=TEXT, value=TEXT)
BY_REGION = Topic("views-by-region", key=windowed(TEXT, MINUTE), value=INT64)


def region_of(_: str, region: str | None) -> str:
    """Return the region of a page's viewer, or "unknown"."""
    return region or "unknown"


builder = TopologyBuilder("page-views")
views = builder.add_source("views", VIEWS)
users = builder.add_table("users", USERS, store=timestamped_store("users", key=TEXT, value=TEXT))
regions = builder.join_table("region", views, users, left(region_of))
keyed = builder.add_processor("by-region", rekey(lambda _, region: region), regions)
edge = builder.repartition("region-edge", keyed, key=TEXT, value=TEXT)
COUNTS = window_store("counts", key=TEXT, value=INT64)
counts = builder.add_processor("count", windowed_aggregate(MINUTE, count(), store=COUNTS), edge)
builder.add_sink("out", BY_REGION, counts)
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=2) as driver:
        driver.write(USERS, "ann", "asia", timestamp=0)
        driver.write(VIEWS, "ann", "/home", timestamp=1_000)
        driver.write(VIEWS, "ann", "/docs", timestamp=2_000)
        driver.write(USERS, "ann", "europe", timestamp=3_000)
        driver.write(VIEWS, "ann", "/docs", timestamp=4_000)
        driver.write(VIEWS, "bob", "/home", timestamp=4_000)
        driver.run()
        for views_of in sorted(driver.read(BY_REGION), key=lambda found: found.key.key):
            print(f"{views_of.key.key}: {views_of.value} views")
