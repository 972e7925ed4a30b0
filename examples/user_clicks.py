"""Goka's clicks example: the number of clicks of each user, with the user's current status.

The result is a join of two tables, updated when either changes.

python examples/user_clicks.py
"""

from __future__ import annotations

from kstreams import INT64, TEXT, Topic, TopologyBuilder, aggregate, timestamped_store
from kstreams.aggregators import count
from kstreams.joins import left
from kstreams.testing import TopologyTestDriver

CLICKS = Topic("user-clicks", key=TEXT, value=TEXT)
STATUS = Topic("user-status", key=TEXT, value=TEXT)
PROFILES = Topic("profiles", key=TEXT, value=TEXT, nulls="pass")

COUNTS = timestamped_store("clicks", key=TEXT, value=INT64).with_changelog("clicks-table")
STATES = timestamped_store("status", key=TEXT, value=TEXT)


def profile(status: str, clicks: int | None) -> str:
    """Describe a user; a user may have a status but no clicks."""
    return f"{status}, {clicks or 0} clicks"


builder = TopologyBuilder("user-clicks")
clicks = builder.add_source("clicks", CLICKS)
counts = builder.aggregate_table("counts", aggregate(count(), store=COUNTS), clicks)
status = builder.add_table("status", STATUS, store=STATES)
profiles = builder.join_tables("profiles", status, counts, left(profile))
builder.add_sink("out", PROFILES, builder.to_stream("changes", profiles))
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        driver.pipe(CLICKS, "ann", "/")
        driver.pipe(STATUS, "ann", "reading")
        driver.pipe(STATUS, "bob", "away")
        driver.pipe(CLICKS, "ann", "/docs")
        for change in driver.read(PROFILES):
            print(f"{change.key}: {change.value}")
        print("clicks", driver.store_contents(COUNTS))
