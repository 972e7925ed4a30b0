"""The ten most viewed pages of each minute: counts by page, then the top ten of each window.

python examples/streams_top_ten.py
"""

from __future__ import annotations

from dataclasses import dataclass

from kstreams import INT64, TEXT, Topic
from kstreams.aggregators import top_n
from kstreams.durations import minutes, seconds
from kstreams.emit import on_close
from kstreams.streams import Streams
from kstreams.testing import TopologyTestDriver
from kstreams.windows import TumblingWindows, Windowed
from kstreams_json import json_serde


@dataclass(frozen=True)
class Page:
    """A page and its number of views."""

    path: str
    views: int


MINUTE = TumblingWindows(minutes(1), grace=seconds(10))
# With the path, pages with equal views have the same order in every run.
TOP = top_n(10, json_serde(Page), by=lambda page: (page.views, page.path))
VIEWS = Topic("views", key=TEXT, value=TEXT)
TOP_PAGES = Topic("top-pages", key=INT64, value=TOP.state)


def by_minute(page: Windowed[str], views: int) -> tuple[int, Page]:
    return page.start_ms, Page(page.key, views)


streams = Streams("top-ten", serdes=[json_serde(Page)], idle_timeout=minutes(5))
counts = streams.stream(VIEWS).group_by_key().windowed_by(MINUTE, emit=on_close()).count()
counts.map(by_minute).group_by_key().aggregate(TOP).to(TOP_PAGES)
topology = streams.build()

if __name__ == "__main__":
    with TopologyTestDriver(topology, partitions=2) as driver:
        for second, path in enumerate(("/", "/docs", "/", "/docs", "/faq", "/")):
            driver.write(VIEWS, path, "view", timestamp=second * 1_000)
        driver.run()
        driver.close_windows()  # as at the end of a run
        for minute, pages in driver.read_values(TOP_PAGES).items():
            print(f"minute {minute // 60_000}:", *(f"{each.path} {each.views}" for each in pages))
