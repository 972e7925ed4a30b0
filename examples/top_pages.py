"""The three most viewed pages of each minute: counts by page, then the top three of each window.

python examples/top_pages.py
"""

from __future__ import annotations

from dataclasses import dataclass

from kstreams import INT64, TEXT, Topic, TopologyBuilder
from kstreams.aggregators import count, top_n
from kstreams.durations import minutes, seconds
from kstreams.emit import on_close
from kstreams.operators import map_
from kstreams.stores import window_store
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, windowed, windowed_aggregate
from kstreams_json import json_serde


@dataclass(frozen=True)
class Page:
    """A page and its number of views."""

    path: str
    views: int


PAGE = json_serde(Page)
VIEWS = Topic("views", key=TEXT, value=TEXT)
MINUTE = TumblingWindows(minutes(1), grace=seconds(10))
# Tasks close a minute at different times: the grace accepts the counts of slower ones.
RANKING = TumblingWindows(minutes(1), grace=minutes(2))
# With the path, pages with equal views have the same order in every run.
TOP = top_n(3, PAGE, by=lambda page: (page.views, page.path))
TOP_PAGES = Topic("top-pages", key=windowed(TEXT, RANKING), value=TOP.state)
COUNTS = window_store("counts", key=TEXT, value=INT64)
TOPS = window_store("tops", key=TEXT, value=TOP.state)

builder = TopologyBuilder("top-pages", idle_timeout=minutes(5))
views = builder.add_source("views", VIEWS)
counting = windowed_aggregate(MINUTE, count(), store=COUNTS, emit=on_close())
counts = builder.add_processor("count", counting, views)
pages = builder.add_processor(
    "to-site", map_(lambda window, number: ("site", Page(window.key, number))), counts
)
site = builder.repartition("site", pages, key=TEXT, value=PAGE)
ranking = windowed_aggregate(RANKING, TOP, store=TOPS, emit=on_close())
builder.add_sink("top-pages", TOP_PAGES, builder.add_processor("top", ranking, site))
topology = builder.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=2) as driver:
        for second, path in enumerate(("/", "/docs", "/", "/docs", "/faq", "/")):
            driver.write(VIEWS, path, "view", timestamp=second * 1_000)
        driver.run()
        driver.close_windows()  # as at the end of a run
        for record in driver.read(TOP_PAGES):
            shown = ", ".join(f"{page.path} {page.views}" for page in record.value)
            print(f"minute {record.key.start_ms // 60_000}: {shown}")
