"""Values, topics and functions of the twelve applications in `apps.py` and `built_apps.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kstreams import BYTES, INT64, TEXT, Record, Serde, Topic
from kstreams.aggregators import top_n
from kstreams.durations import hours, minutes
from kstreams.serde.composite import TupleSerde
from kstreams.windows import HoppingWindows, SessionWindows, TumblingWindows, Windowed, windowed
from kstreams_json import json_serde

MINUTE = 60_000


class Input(NamedTuple):
    """A record of a topic."""

    topic: Topic[Any, Any]
    key: object
    value: object
    timestamp: int = 0


@dataclass(frozen=True)
class View:
    user: str
    page: str


@dataclass(frozen=True)
class Profile:
    region: str


@dataclass(frozen=True)
class Article:
    industry: str
    page: str
    is_article: bool


@dataclass(frozen=True)
class Charted:
    page: str
    views: int


@dataclass(frozen=True)
class Album:
    title: str
    artist: str


@dataclass(frozen=True)
class Purchase:
    album: int
    song: str


@dataclass(frozen=True)
class Interest:
    song: str
    artist: str


@dataclass(frozen=True)
class Click:
    ip: str
    url: str


@dataclass(frozen=True)
class Order:
    item: str
    kind: str = "order"


@dataclass(frozen=True)
class Refund:
    reason: str
    kind: str = "refund"


@dataclass(frozen=True)
class Login:
    app: str
    user: str


@dataclass(frozen=True)
class Rollup:
    logins: dict[str, int] = field(default_factory=dict)


class EventSerde(Serde["Order | Refund"]):
    name = "events"
    type_token = Order | Refund

    def serialize(self, value: Order | Refund) -> bytes:
        return ORDER.serialize(value) if isinstance(value, Order) else REFUND.serialize(value)

    def deserialize(self, data: bytes) -> Order | Refund:
        return ORDER.deserialize(data) if b'"order"' in data else REFUND.deserialize(data)


VIEW, PROFILE, ARTICLE = json_serde(View), json_serde(Profile), json_serde(Article)
CHARTED, ALBUM, PURCHASE = json_serde(Charted), json_serde(Album), json_serde(Purchase)
INTEREST, CLICK, ROLLUP = json_serde(Interest), json_serde(Click), json_serde(Rollup)
ORDER, REFUND = json_serde(Order), json_serde(Refund)
PAGE: Serde[tuple[str, str]] = TupleSerde(TEXT, TEXT)
HOUR_OF: Serde[tuple[str, int]] = TupleSerde(TEXT, INT64)
BEST = top_n(2, CHARTED, by=lambda charted: charted.views)
FIVE_MINUTES, HALF_HOUR = HoppingWindows(minutes(5), minutes(1)), SessionWindows(minutes(30))
HOUR, A_MINUTE = TumblingWindows(hours(1)), TumblingWindows(minutes(1))

LINES = Topic("lines", key=BYTES, value=TEXT)
TOTALS = Topic("totals", key=TEXT, value=INT64)
VIEWS = Topic("page-views", key=BYTES, value=VIEW)
PROFILES = Topic("profiles", key=TEXT, value=PROFILE)
BY_REGION = Topic("views-by-region", key=windowed(TEXT, FIVE_MINUTES), value=INT64)
ARTICLES = Topic("articles", key=BYTES, value=ARTICLE)
CHARTS = Topic("charts", key=HOUR_OF, value=BEST.state)
NUMBERS = Topic("numbers", key=BYTES, value=INT64)
SUM_OF_ODD = Topic("sum-of-odd", key=INT64, value=INT64)
PLAYS = Topic("plays", key=TEXT, value=TEXT)
SESSIONS = Topic("plays-per-session", key=TEXT, value=INT64)
CLICKS = Topic("clicks", key=TEXT, value=INT64)
REGIONS = Topic("regions", key=TEXT, value=TEXT)
CLICKS_OF = Topic("clicks-per-region", key=TEXT, value=INT64)
SHOWN = Topic("shown", key=TEXT, value=TEXT)
CLICKED = Topic("clicked", key=TEXT, value=TEXT)
SEEN = Topic("seen", key=TEXT, value=TEXT)
ALBUMS = Topic("albums", key=INT64, value=ALBUM)
PURCHASES = Topic("purchases", key=TEXT, value=PURCHASE)
INTERESTS = Topic("interests", key=TEXT, value=INTEREST, nulls="pass")
EVENTS = Topic("events", key=TEXT, value=CLICK)
DISTINCT = Topic("distinct", key=TEXT, value=CLICK)
USER_CLICKS = Topic("user-clicks", key=BYTES, value=TEXT)
ANOMALOUS = Topic("anomalous-users", key=TEXT, value=INT64)
ORDER_EVENTS = Topic("order-events", key=TEXT, value=EventSerde())
ORDERS = Topic("orders", key=TEXT, value=ORDER)
REFUNDS = Topic("refunds", key=TEXT, value=REFUND)
ONE, TWO, THREE = (Topic(f"app-{number}", TEXT, json_serde(Login)) for number in (1, 2, 3))
ROLLUPS = Topic("rollups", key=TEXT, value=ROLLUP, nulls="pass")


def words(line: str) -> list[str]:
    return line.lower().split()


def region_of(_: View, profile: Profile | None) -> str:
    return profile.region if profile else "unknown"


def page_of(_: bytes, article: Article) -> tuple[str, str]:
    return article.industry, article.page


def charted(page: Windowed[tuple[str, str]], views: int) -> tuple[tuple[str, int], Charted]:
    return (page.key[0], page.start_ms), Charted(page.key[1], views)


def plus(one: int, other: int) -> int:
    return one + other


def readable(window: Windowed[str], number: int) -> tuple[str, int]:
    return str(window), number


def region_clicks(clicks: int, region: str | None) -> tuple[str, int]:
    return region or "unknown", clicks


def by_region(_: str, found: tuple[str, int]) -> tuple[str, int]:
    return found


def seen(ad: str | None, click: str | None) -> str:
    return f"{ad}/{click}"


def interest(purchase: Purchase, album: Album) -> Interest:
    return Interest(purchase.song, album.artist)


def roll_up(old: Rollup | None, record: Record[str, Login]) -> Rollup:
    logins = dict(old.logins) if old else {}
    user = f"{record.value.app}/{record.value.user}"
    return Rollup({**logins, user: logins.get(user, 0) + 1})
