"""The twelve applications with `TopologyBuilder`."""

from __future__ import annotations

from kstreams import (
    INT64,
    TEXT,
    Record,
    Topology,
    TopologyBuilder,
    aggregate,
    filter_,
    map_,
    map_values,
    rekey,
    timestamped_store,
)
from kstreams.aggregators import count, sum_
from kstreams.durations import minutes, seconds
from kstreams.emit import on_close
from kstreams.joins import inner, left, outer, within
from kstreams.operators import deduplicate, flat_map_values, reduce
from kstreams.stores import join_store, session_store, window_store
from kstreams.topology import feed
from kstreams.windows import windowed_aggregate
from tests.kstreams.streams import app_types as a


def word_count() -> Topology:
    b = TopologyBuilder("word-count")
    split = b.add_processor("words", flat_map_values(a.words), b.add_source("lines", a.LINES))
    keyed = b.add_processor("by-word", rekey(lambda _, word: word), split)
    moved = b.repartition("edge", keyed, key=TEXT, value=TEXT)
    store = timestamped_store("counts", key=TEXT, value=INT64)
    b.add_sink("out", a.TOTALS, b.add_processor("count", aggregate(count(), store=store), moved))
    return b.build()


def page_views() -> Topology:
    b = TopologyBuilder("page-views")
    views = b.add_source("views", a.VIEWS)
    by_user = b.add_processor("by-user", rekey(lambda _, view: view.user), views)
    moved = b.repartition("user-edge", by_user, key=TEXT, value=a.VIEW)
    rows = timestamped_store("profiles", key=TEXT, value=a.PROFILE)
    profiles = b.add_table("profiles", a.PROFILES, store=rows)
    regions = b.join_table("region", moved, profiles, left(a.region_of))
    keyed = b.add_processor("by-region", rekey(lambda _, region: region), regions)
    there = b.repartition("region-edge", keyed, key=TEXT, value=TEXT)
    store = window_store("counts", key=TEXT, value=INT64)
    counting = windowed_aggregate(a.FIVE_MINUTES, count(), store=store)
    b.add_sink("out", a.BY_REGION, b.add_processor("count", counting, there))
    return b.build()


def top_articles() -> Topology:
    b = TopologyBuilder("top-articles")
    views = b.add_source("views", a.ARTICLES)
    some = b.add_processor("articles", filter_(lambda _, each: each.is_article), views)
    keyed = b.add_processor("by-page", rekey(a.page_of), some)
    moved = b.repartition("page-edge", keyed, key=a.PAGE, value=a.ARTICLE)
    store = window_store("page-counts", key=a.PAGE, value=INT64)
    counting = windowed_aggregate(a.HOUR, count(), store=store, emit=on_close())
    counts = b.add_processor("count", counting, moved)
    by_hour = b.add_processor("by-hour", map_(a.charted), counts)
    there = b.repartition("hour-edge", by_hour, key=a.HOUR_OF, value=a.CHARTED)
    best = timestamped_store("best", key=a.HOUR_OF, value=a.BEST.state)
    b.add_sink("out", a.CHARTS, b.add_processor("top", aggregate(a.BEST, store=best), there))
    return b.build()


def sum_of_odd() -> Topology:
    b = TopologyBuilder("sum-of-odd")
    numbers = b.add_source("numbers", a.NUMBERS)
    odd = b.add_processor("odd", filter_(lambda _, number: number % 2 == 1), numbers)
    keyed = b.add_processor("one", rekey(lambda _k, _v: 1), odd)
    moved = b.repartition("edge", keyed, key=INT64, value=INT64)
    store = timestamped_store("sum", key=INT64, value=INT64)
    b.add_sink("out", a.SUM_OF_ODD, b.add_processor("plus", reduce(a.plus, store=store), moved))
    return b.build()


def session_counts() -> Topology:
    b = TopologyBuilder("session-counts")
    store = session_store("plays-per-session", key=TEXT, value=INT64)
    counting = windowed_aggregate(a.HALF_HOUR, count(), store=store, emit=on_close())
    counts = b.add_processor("count", counting, b.add_source("plays", a.PLAYS))
    b.add_sink("out", a.SESSIONS, b.add_processor("readable", map_(a.readable), counts))
    return b.build()


def clicks_per_region() -> Topology:
    b = TopologyBuilder("clicks-per-region")
    clicks = b.add_source("clicks", a.CLICKS)
    rows = timestamped_store("regions", key=TEXT, value=TEXT)
    regions = b.add_table("regions", a.REGIONS, store=rows)
    joined = b.join_table("region", clicks, regions, left(a.region_clicks))
    keyed = b.add_processor("by-region", map_(a.by_region), joined)
    moved = b.repartition("edge", keyed, key=TEXT, value=INT64)
    store = timestamped_store("sums", key=TEXT, value=INT64)
    sums = b.add_processor("sum", aggregate(sum_(INT64), store=store), moved)
    b.add_sink("out", a.CLICKS_OF, sums)
    return b.build()


def ads() -> Topology:
    b = TopologyBuilder("ads")
    shown, clicked = b.add_source("shown", a.SHOWN), b.add_source("clicked", a.CLICKED)
    span = within(seconds(0), minutes(10), grace=minutes(1))
    store = join_store("seen", key=TEXT, left=TEXT, right=TEXT)
    both = b.join_streams("seen", shown, clicked, outer(a.seen), within=span, store=store)
    b.add_sink("out", a.SEEN, both)
    return b.build()


def interests() -> Topology:
    b = TopologyBuilder("interests")
    album_rows = timestamped_store("albums", key=INT64, value=a.ALBUM)
    albums = b.add_table("albums", a.ALBUMS, store=album_rows)
    purchase_rows = timestamped_store("purchases", key=TEXT, value=a.PURCHASE)
    purchases = b.add_table("purchases", a.PURCHASES, store=purchase_rows)
    store = timestamped_store("interests", key=TEXT, value=a.INTEREST)
    joiner = inner(a.interest)
    made = b.join_foreign(
        "interests", purchases, albums, joiner, by=lambda _, row: row.album, store=store
    )
    b.add_sink("out", a.INTERESTS, b.to_stream("changes", made))
    return b.build()


def distinct() -> Topology:
    b = TopologyBuilder("distinct")
    once = deduplicate(ip_of, id=TEXT, within=minutes(2), store="ips")
    b.add_sink("out", a.DISTINCT, b.add_processor("once", once, b.add_source("in", a.EVENTS)))
    return b.build()


def ip_of(record: Record[str, a.Click]) -> str:
    return record.value.ip


def anomalies() -> Topology:
    b = TopologyBuilder("anomalies")
    clicks = b.add_source("clicks", a.USER_CLICKS)
    keyed = b.add_processor("by-user", rekey(lambda _, user: user), clicks)
    moved = b.repartition("edge", keyed, key=TEXT, value=TEXT)
    store = window_store("counts", key=TEXT, value=INT64)
    counts = b.add_processor("count", windowed_aggregate(a.A_MINUTE, count(), store=store), moved)
    many = b.add_processor("many", filter_(lambda _, number: number >= 3), counts)
    b.add_sink("out", a.ANOMALOUS, b.add_processor("user", map_(a.readable), many))
    return b.build()


def divided() -> Topology:
    b = TopologyBuilder("divided")
    events = b.add_source("events", a.ORDER_EVENTS)
    sides = b.branch("kind", events, {"order": is_order, "refund": is_refund})
    orders = b.add_processor("orders", map_values(as_order), sides["order"])
    refunds = b.add_processor("refunds", map_values(as_refund), sides["refund"])
    b.add_sink("orders-out", a.ORDERS, orders)
    b.add_sink("refunds-out", a.REFUNDS, refunds)
    return b.build()


def is_order(_: str, event: a.Order | a.Refund) -> bool:
    return isinstance(event, a.Order)


def is_refund(_: str, event: a.Order | a.Refund) -> bool:
    return isinstance(event, a.Refund)


def as_order(event: a.Order | a.Refund) -> a.Order:
    assert isinstance(event, a.Order)
    return event


def as_refund(event: a.Order | a.Refund) -> a.Refund:
    assert isinstance(event, a.Refund)
    return event


def rollups() -> Topology:
    b = TopologyBuilder("rollups")
    nodes = [b.add_source(topic.name, topic) for topic in (a.ONE, a.TWO, a.THREE)]
    store = timestamped_store("rollups", key=TEXT, value=a.ROLLUP)
    table = b.cogroup("rollups", *(feed(node, a.roll_up) for node in nodes), store=store)
    b.add_sink("out", a.ROLLUPS, b.to_stream("changes", table))
    return b.build()
