"""The twelve applications as streams and tables."""

from __future__ import annotations

from kstreams.aggregators import sum_
from kstreams.durations import minutes, seconds
from kstreams.emit import on_close
from kstreams.serde import INT64
from kstreams.streams import Streams, classes
from kstreams.topology import Topology
from kstreams_json import json_serde
from tests.kstreams.streams import app_types as a


def word_count() -> Topology:
    streams = Streams("word-count")
    lines = streams.stream(a.LINES).flat_map_values(a.words)
    lines.group_by(lambda _, word: word).count().to(a.TOTALS)
    return streams.build()


def page_views() -> Topology:
    streams = Streams("page-views")
    views = streams.stream(a.VIEWS).select_key(lambda _, view: view.user)
    regions = views.left_join(streams.table(a.PROFILES), a.region_of)
    regions.group_by(lambda _, region: region).windowed_by(a.FIVE_MINUTES).count().to(a.BY_REGION)
    return streams.build()


def top_articles() -> Topology:
    streams = Streams("top-articles", serdes=[a.CHARTED])
    views = streams.stream(a.ARTICLES).filter(lambda _, article: article.is_article)
    counts = views.group_by(a.page_of).windowed_by(a.HOUR, emit=on_close()).count()
    counts.map(a.charted).group_by_key().aggregate(a.BEST).to(a.CHARTS)
    return streams.build()


def sum_of_odd() -> Topology:
    streams = Streams("sum-of-odd")
    odd = streams.stream(a.NUMBERS).filter(lambda _, number: number % 2 == 1)
    odd.group_by(lambda _k, _v: 1).reduce(a.plus).to(a.SUM_OF_ODD)
    return streams.build()


def session_counts() -> Topology:
    streams = Streams("session-counts")
    plays = streams.stream(a.PLAYS).group_by_key().windowed_by(a.HALF_HOUR, emit=on_close())
    plays.count().map(a.readable).to(a.SESSIONS)
    return streams.build()


def clicks_per_region() -> Topology:
    streams = Streams("clicks-per-region")
    clicks = streams.stream(a.CLICKS).left_join(streams.table(a.REGIONS), a.region_clicks)
    clicks.map(a.by_region).group_by_key().aggregate(sum_(INT64)).to(a.CLICKS_OF)
    return streams.build()


def ads() -> Topology:
    streams = Streams("ads")
    clicked = streams.stream(a.CLICKED).within(seconds(0), minutes(10), grace=minutes(1))
    streams.stream(a.SHOWN).outer_join(clicked, a.seen).to(a.SEEN)
    return streams.build()


def interests() -> Topology:
    streams = Streams("interests", make_serde=json_serde)
    albums, purchases = streams.table(a.ALBUMS), streams.table(a.PURCHASES)
    purchases.join_by(albums, lambda _, purchase: purchase.album, a.interest).to(a.INTERESTS)
    return streams.build()


def distinct() -> Topology:
    streams = Streams("distinct")
    clicks = streams.stream(a.EVENTS)
    clicks.deduplicate(lambda _, click: click.ip, within=minutes(2)).to(a.DISTINCT)
    return streams.build()


def anomalies() -> Topology:
    streams = Streams("anomalies")
    users = streams.stream(a.USER_CLICKS).group_by(lambda _, user: user)
    counts = users.windowed_by(a.A_MINUTE).count().filter(lambda _, clicks: clicks >= 3)
    counts.map(a.readable).to(a.ANOMALOUS)
    return streams.build()


def divided() -> Topology:
    streams = Streams("divided")
    orders, refunds = streams.stream(a.ORDER_EVENTS).by_type(classes(a.Order, a.Refund))
    orders.to(a.ORDERS)
    refunds.to(a.REFUNDS)
    return streams.build()


def rollups() -> Topology:
    streams = Streams("rollups", make_serde=json_serde)
    one, two, three = (streams.stream(topic).group_by_key() for topic in (a.ONE, a.TWO, a.THREE))
    cogrouped = one.cogroup(a.roll_up).cogroup(two, a.roll_up).cogroup(three, a.roll_up)
    cogrouped.aggregate().to(a.ROLLUPS)
    return streams.build()
