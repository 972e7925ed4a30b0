"""Page views by region, as `page_views.py`, with streams and tables.

A view counts for the region of its user at the time of the view. Views that come too late for
their minute go to a topic of their own.

python examples/streams_page_views.py
"""

from __future__ import annotations

from kstreams import INT64, TEXT, Topic
from kstreams.durations import minutes, seconds
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams.windows import Late, TumblingWindows, windowed

MINUTE = TumblingWindows(minutes(1), grace=seconds(10))
VIEWS = Topic("page-views", key=TEXT, value=TEXT)
USERS = Topic("user-regions", key=TEXT, value=TEXT)
BY_REGION = Topic("views-by-region", key=windowed(TEXT, MINUTE), value=INT64)
LATE = Topic("late-views", key=TEXT, value=TEXT)


def region_of(_: str, region: str | None) -> str:
    """Return the region of a page's viewer, or "unknown"."""
    return region or "unknown"


def lateness(late: Late[str]) -> str:
    return f"{late.lateness_ms} ms too late"


streams = Streams("page-views")
regions = streams.stream(VIEWS).left_join(streams.table(USERS), region_of)
counts = regions.group_by(lambda _, region: region).windowed_by(MINUTE).count()
counts.to(BY_REGION)
counts.late.map_values(lateness).to(LATE)
topology = streams.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology) as driver:
        driver.write(USERS, "ann", "asia", timestamp=0)
        driver.write(VIEWS, "ann", "/home", timestamp=1_000)
        driver.write(VIEWS, "ann", "/docs", timestamp=2_000)
        driver.write(VIEWS, "bob", "/home", timestamp=4_000)
        driver.run()
        for views_of in sorted(driver.read(BY_REGION), key=lambda found: found.key.key):
            print(f"{views_of.key.key}: {views_of.value} views")
        driver.pipe(VIEWS, "bob", "/home", timestamp=90_000)  # the first minute is over
        driver.pipe(VIEWS, "ann", "/docs", timestamp=5_000)
        print(driver.read_values(LATE))
