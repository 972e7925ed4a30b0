"""Twelve applications as streams give the results of the same applications with the builder."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from kstreams import Topic, Topology
from kstreams.testing import TopologyTestDriver
from tests.kstreams.streams import app_types as a
from tests.kstreams.streams import built_apps, fluent_apps
from tests.kstreams.streams.app_types import MINUTE, Input

Written = list[tuple[str, int]]
"""Keys and values of records as text, with times, sorted."""


class App(NamedTuple):
    """The records of an application, the topics that it writes, and some final values."""

    records: Sequence[Input]
    outputs: Sequence[Topic[Any, Any]]
    expected: dict[str, str]


APPS = {
    "word_count": App(
        [Input(a.LINES, b"1", "to be or"), Input(a.LINES, b"2", "not to be")],
        [a.TOTALS],
        {"to": "2", "be": "2", "or": "1", "not": "1"},
    ),
    "page_views": App(
        [
            *(Input(a.PROFILES, user, a.Profile(f"r-{user[0]}"), 1) for user in ("ann", "bob")),
            *(Input(a.VIEWS, b"", a.View(u, "/"), 30_000) for u in ("ann", "abe", "bob", "ann")),
        ],
        [a.BY_REGION],
        {"r-a@0/300000": "2", "r-b@0/300000": "1", "unknown@0/300000": "1"},
    ),
    "top_articles": App(
        [
            Input(a.ARTICLES, b"", a.Article("tech", page, page != "ad"), 1)
            for page, views in (("a", 3), ("b", 5), ("c", 1), ("ad", 9))
            for _ in range(views)
        ],
        [a.CHARTS],
        {"('tech', 0)": str((a.Charted("b", 5), a.Charted("a", 3)))},
    ),
    "sum_of_odd": App([Input(a.NUMBERS, b"", n) for n in range(10)], [a.SUM_OF_ODD], {"1": "25"}),
    "session_counts": App(
        [Input(a.PLAYS, "ann", "song", at * MINUTE) for at in (0, 10, 120)],
        [a.SESSIONS],
        {"ann@0/600000": "2", "ann@7200000/7200000": "1"},
    ),
    "clicks_per_region": App(
        [
            *(Input(a.REGIONS, user, f"r-{user[0]}", 1) for user in ("ann", "bob", "abe")),
            *(Input(a.CLICKS, user, len(user), 2) for user in ("ann", "abe", "bob", "joseph")),
        ],
        [a.CLICKS_OF],
        {"r-a": "6", "r-b": "3", "unknown": "6"},
    ),
    "ads": App(
        [
            Input(a.SHOWN, "1", "tea"),
            Input(a.SHOWN, "2", "cake"),
            Input(a.CLICKED, "1", "ann", 5 * MINUTE),
            Input(a.CLICKED, "3", "bob", 5 * MINUTE),
        ],
        [a.SEEN],
        {"1": "tea/ann", "2": "cake/None", "3": "None/bob"},
    ),
    "interests": App(
        [
            Input(a.ALBUMS, 1, a.Album("Blue", "Joni")),
            Input(a.PURCHASES, "ann", a.Purchase(1, "River")),
            Input(a.PURCHASES, "bob", a.Purchase(2, "Help")),
            Input(a.ALBUMS, 2, a.Album("Help", "Beatles"), 1),
            Input(a.ALBUMS, 1, a.Album("Blue", "Joni M."), 2),
        ],
        [a.INTERESTS],
        {"ann": str(a.Interest("River", "Joni M.")), "bob": str(a.Interest("Help", "Beatles"))},
    ),
    "distinct": App(
        [
            Input(a.EVENTS, ip, a.Click(ip, f"/{at}"), at * MINUTE)
            for at, ip in ((0, "a"), (1, "a"), (2, "b"), (5, "a"))
        ],
        [a.DISTINCT],
        {"a": str(a.Click("a", "/5")), "b": str(a.Click("b", "/2"))},
    ),
    "anomalies": App(
        [Input(a.USER_CLICKS, b"", user, 1) for user in ("bob", "ann", "bob", "bob", "ann", "bob")],
        [a.ANOMALOUS],
        {"bob@0/60000": "4"},
    ),
    "divided": App(
        [
            Input(a.ORDER_EVENTS, "ann", a.Order("tea")),
            Input(a.ORDER_EVENTS, "bob", a.Refund("cold")),
        ],
        [a.ORDERS, a.REFUNDS],
        {"ann": str(a.Order("tea")), "bob": str(a.Refund("cold"))},
    ),
    "rollups": App(
        [
            Input(topic, "k", a.Login(app, "ann"), at)
            for at, (topic, app) in enumerate(((a.ONE, "a"), (a.TWO, "b"), (a.ONE, "a")))
        ],
        [a.ROLLUPS],
        {"k": str(a.Rollup({"a/ann": 2, "b/ann": 1}))},
    ),
}
Make = Callable[[], Topology]


@pytest.fixture(params=APPS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def forms_of(name: str) -> tuple[Make, Make]:
    return getattr(fluent_apps, name), getattr(built_apps, name)


def run(make: Make, app: App, size: int) -> tuple[Written, dict[str, str]]:
    """Process the records in batches of a size; return all results, and the last of each key."""
    with TopologyTestDriver(make(), partitions=3) as driver:
        for start in range(0, len(app.records), size):
            for topic, key, value, timestamp in app.records[start : start + size]:
                driver.write(topic, key, value, timestamp=timestamp)
            driver.run()
        driver.close_windows()
        found = [record for topic in app.outputs for record in driver.read(topic)]
    written = sorted((f"{r.key}: {r.value}", r.timestamp) for r in found)
    return written, {str(record.key): str(record.value) for record in found}


@pytest.mark.parametrize("size", [1, 3, 1_000], ids=["one", "three", "all"])
def test_topology_of_streams_writes_same_results_as_topology_of_builder(
    name: str, size: int
) -> None:
    fluent, built = forms_of(name)
    written, last = run(fluent, APPS[name], size)
    assert (written, last) == run(built, APPS[name], size)
    expected = APPS[name].expected
    assert {key: last.get(key) for key in expected} == expected


def test_topology_of_streams_runs_as_many_nodes_by_columns_as_topology_of_builder(
    name: str,
) -> None:
    one, other = (
        Counter(re.findall(r"execution: (\w+)", make().describe())) for make in forms_of(name)
    )
    assert one == other


def test_topology_of_streams_has_same_groups_and_stores_as_topology_of_builder(name: str) -> None:
    shapes = [
        sorted(
            (len(group.entries), [spec.kind.name for spec in group.stores]) for group in t.groups
        )
        for t in (make() for make in forms_of(name))
    ]
    assert shapes[0] == shapes[1]
