"""Tables and joins infer their types from handles, and their functions from the joins."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import assert_type

from kstreams import (
    BYTES,
    INT64,
    NONE,
    TEXT,
    FixedKeyProcessor,
    Node,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    View,
    aggregate,
    flat_map,
    rekey,
    timestamped_store,
)
from kstreams.aggregators import count
from kstreams.durations import minutes, seconds
from kstreams.emit import each_update
from kstreams.joins import (
    Change,
    JoinProcessor,
    inner,
    left,
    left_value,
    outer,
    pair,
    right_value,
    within,
)
from kstreams.stores import join_store, queue_store, versioned_key_value_store, window_store
from kstreams.topology import AppTable, GlobalTable, Loop, Table, VersionedTable, feed
from kstreams.windows import TumblingWindows, Windowed, windowed, windowed_aggregate
from kstreams_json import json_serde


@dataclass(frozen=True)
class Message:
    """A message between two users."""

    sender: str
    to: str
    text: str


@dataclass(frozen=True)
class User:
    """A user."""

    name: str
    region: str


@dataclass(frozen=True)
class Rate:
    """The rate of a currency."""

    euros: float


@dataclass(frozen=True)
class Profile:
    """A status, and a number of clicks."""

    text: str
    clicks: int


@dataclass(frozen=True)
class Order:
    """An order of a user."""

    customer: int
    amount: int


@dataclass(frozen=True)
class Full:
    """An order with its user."""

    order: Order
    user: User


ORDER = json_serde(Order)
MESSAGE, USER, RATE = json_serde(Message), json_serde(User), json_serde(Rate)
SENT = Topic("sent", key=TEXT, value=MESSAGE)
RECEIVED = Topic("received", key=TEXT, value=MESSAGE)
b = TopologyBuilder("joins")
sent = b.add_source("sent", SENT)

# ------------------------------------------------ a group table, read by a view
CLICKS = Topic("user-clicks", key=TEXT, value=INT64)
COUNTS = timestamped_store("my-group", key=TEXT, value=INT64).with_changelog("my-group-table")
clicks = b.add_source("clicks", CLICKS)
clicked = b.aggregate_table("count", aggregate(count(), store=COUNTS), clicks)
assert_type(clicked, Table[str, int])
with View("checkpoint", COUNTS) as view:
    assert_type(view.get("ann"), tuple[int, int] | None)

# ------------------------------------------------ two tables
STATUS = timestamped_store("status", key=TEXT, value=TEXT)
status = b.add_table("status", Topic("user-status", key=TEXT, value=TEXT), store=STATUS)
assert_type(status, Table[str, str])
profile = b.join_tables("profile", status, clicked, left(lambda text, n: Profile(text, n or 0)))
assert_type(profile, Table[str, Profile])
PROFILES = Topic("profiles", TEXT, json_serde(Profile), nulls="pass")
b.add_sink("profiles", PROFILES, b.to_stream("updates", profile))
KEPT = timestamped_store("kept", key=TEXT, value=json_serde(Profile))
either = b.join_tables(
    "either", status, clicked, outer(lambda text, n: Profile(text or "", n or 0)), store=KEPT
)
assert_type(either, Table[str, Profile])
DELETABLE = Topic("deletable", key=TEXT, value=TEXT, nulls="pass")
OTHERS = timestamped_store("others", key=TEXT, value=TEXT)
others = b.add_table("others", DELETABLE, store=OTHERS)

# ------------------------------------------------ ready-made functions
assert_type(b.join_table("known", clicks, status, inner(left_value)), Node[str, int])
assert_type(b.join_table("status-of", clicks, status, left(right_value)), Node[str, str | None])
assert_type(b.join_table("pairs", clicks, status, left(pair)), Node[str, tuple[int, str | None]])
assert_type(b.join_tables("all", status, clicked, inner(pair)), Table[str, tuple[str, int]])

# ------------------------------------------------ a processor that reads a table
BLOCKED = timestamped_store("blocked", key=TEXT, value=INT64)
RATES = versioned_key_value_store("rates", key=TEXT, value=RATE, retention=minutes(60))


class Filter(Processor[str, Message, str, Message]):
    """Drops messages of blocked users."""

    def init(self, context: ProcessorContext[str, Message]) -> None:
        self.out = context
        self.blocked, self.rates = context.reader(BLOCKED), context.reader(RATES)

    def process(self, record: Record[str, Message]) -> None:
        assert_type(self.blocked.get(record.key), int | None)
        assert_type(self.rates.get(record.key), Rate | None)
        if not self.blocked.get(record.key):
            self.out.forward(record.with_key(record.value.to))


b.add_table("blocked", Topic("blocker-table", key=TEXT, value=INT64), store=BLOCKED)
rates = b.add_table("rates", Topic("rates", TEXT, RATE), store=RATES)
assert_type(rates, VersionedTable[str, Rate])
assert_type(b.derive("same-rates", rates, lambda _, rate: rate), VersionedTable[str, Rate])
filtered = b.add_processor("filter", Filter, sent, reads=[BLOCKED, RATES])
b.add_sink("received", RECEIVED, filtered)


# several inputs of one table, each with its own function
def on_sent(old: int | None, record: Record[str, Message]) -> int | None:
    return None if record.value.text == "stop" else (old or 0) + 1


TALLY = timestamped_store("tally", key=TEXT, value=INT64)
tally = b.cogroup(
    "tally", feed(sent, on_sent), feed(sent, lambda old, _: old), store=TALLY, ttl=minutes(5)
)
assert_type(tally, Table[str, int])

# ------------------------------------------------ word count, explained
lines = b.add_source("lines", Topic("lines", key=BYTES, value=TEXT))


def split(_: bytes, line: str) -> list[tuple[str, None]]:
    """Return the words."""
    return [(word, None) for word in line.split()]


split_up = b.add_processor("split", flat_map(split), lines)
words = b.repartition("by-word", split_up, key=TEXT, value=NONE)
TOTALS = timestamped_store("totals", key=TEXT, value=INT64)
totals = b.aggregate_table("totals", aggregate(count(), store=TOTALS), words)
GLOSSARY = timestamped_store("glossary", key=TEXT, value=TEXT)
glossary = b.add_table("glossary", Topic("glossary", TEXT, TEXT), store=GLOSSARY)
explained = b.join_tables("explained", totals, glossary, inner(lambda n, text: f"{text}: {n}"))
assert_type(explained, Table[str, str])
assert_type(b.to_stream("each", explained, emit=each_update()), Node[str, str | None])
often = b.derive("often", totals, lambda _, n: n / 2 if n > 9 else None)
assert_type(often, Table[str, float])

# ------------------------------------------------ page views by region
USERS = timestamped_store("users", key=TEXT, value=USER)
users = b.add_table("users", Topic("users", TEXT, USER), store=USERS)
regions = b.join_table("region", clicks, users, left(lambda _, user: user.region if user else "?"))
assert_type(regions, Node[str, str])
by_own = b.add_processor("own", rekey(lambda _, name: name), regions)
by_region = b.repartition("by-region", by_own, key=TEXT, value=TEXT)
MINUTE = TumblingWindows(minutes(1), grace=seconds(10))
PER_REGION = window_store("regions", key=TEXT, value=INT64)
per_region = windowed_aggregate(MINUTE, count(), store=PER_REGION)
views = b.add_processor("views", per_region, by_region)
assert_type(views, Node[Windowed[str], int])
WINDOWED = timestamped_store("views-table", key=windowed(TEXT, MINUTE), value=INT64)
assert_type(b.to_table("views-table", views, store=WINDOWED), Table[Windowed[str], int])

# ------------------------------------------------ a versioned table, and a stream that deletes
euros = b.join_table("euros", clicks, rates, inner(lambda n, rate: n * rate.euros))
assert_type(euros, Node[str, float])
deleting = b.add_source("deleting", Topic("deleting", TEXT, TEXT, nulls="pass"))
moved = b.repartition("moved", deleting, key=TEXT, value=TEXT, nulls="pass")
assert_type(moved, Node[str, str | None])
MOVED = timestamped_store("moved-table", key=TEXT, value=TEXT)
assert_type(b.to_table("moved-table", moved, store=MOVED), Table[str, str])


# ------------------------------------------------ two streams, and unmatched records
shown = b.add_source("shown", Topic("impressions", TEXT, TEXT))
PAIRS = join_store("pairs", key=TEXT, left=TEXT, right=INT64)
NEAR = within(seconds(0), minutes(10), grace=minutes(1))
pairs = b.join_streams(
    "pairs", shown, clicks, outer(lambda ad, n: (ad, n)), within=NEAR, store=PAIRS
)
assert_type(pairs, Node[str, tuple[str | None, int | None]])
SAME = join_store("same", key=TEXT, left=INT64, right=INT64)
same = b.join_streams(
    "same", clicks, clicks, inner(lambda one, other: one / other), within=NEAR, store=SAME
)
assert_type(same, Node[str, float])

# ------------------------------------------------ the rate at a record's own time
HELD = queue_store("held", key=TEXT, value=INT64)
later = b.join_as_of(
    "later", clicks, rates, inner(lambda n, rate: n * rate.euros), grace=seconds(30), waiting=HELD
)
assert_type(later, Node[str, float])

# ------------------------------------------------ global tables, and tables of another app
WORDS = timestamped_store("translations", key=INT64, value=TEXT)
translations = b.add_global_table("words", Topic("words", INT64, TEXT), store=WORDS)
assert_type(translations, GlobalTable[int, str])
of_app = b.add_global_table("of-app", AppTable("checkpoints/names", USERS))
assert_type(of_app, GlobalTable[str, User])
named = b.join_global(
    "named", clicks, translations, left(lambda n, word: word or str(n)), by=lambda _, n: n % 100
)
assert_type(named, Node[str, str])

# ------------------------------------------------ loops
received = b.add_loop("to-receiver", key=TEXT, value=MESSAGE, max_hops=10)
assert_type(received, Loop[str, Message])
b.close_loop(received, b.add_processor("by-receiver", rekey(lambda _, m: m.to), sent, received))

# ------------------------------------------------ rows of other keys and in other groups
ORDERED = timestamped_store("ordered", key=INT64, value=ORDER)
orders = b.add_table("orders", Topic("orders", INT64, ORDER), store=ORDERED)
PEOPLE = timestamped_store("people", key=INT64, value=USER)
people = b.add_table("people", Topic("people", INT64, USER), store=PEOPLE)
FULL = timestamped_store("full", key=INT64, value=json_serde(Full))
full = b.join_foreign(
    "full", orders, people, inner(lambda o, u: Full(o, u)), by=lambda _, o: o.customer, store=FULL
)
assert_type(full, Table[int, Full])
PER_NAME = timestamped_store("per-name", key=TEXT, value=INT64)
per = b.regroup("per-name", people, lambda _, user: user.region, count(), store=PER_NAME)
assert_type(per, Table[str, int])


# ------------------------------------------------ two inputs, one processor
class FirstOfBoth(JoinProcessor[str, int, str, str, str]):
    """Forwards records of both inputs."""

    keeps_key = True

    def process_left(self, record: Record[str, int]) -> None:
        """Convert numbers to text."""
        self.context.forward(record.with_value(str(record.value)))

    def process_right(self, record: Record[str, str]) -> None:
        """Forward text."""
        self.context.forward(record)


assert_type(b.add_join("both", FirstOfBoth, clicks, regions), Node[str, str])


# ------------------------------------------------ changes are records, and a table is a parent
class Deltas(FixedKeyProcessor[str, Change[int], int]):
    """The change of a count."""

    def process(self, record: Record[str, Change[int]]) -> None:
        """Forward the difference."""
        self.context.forward(record.with_value((record.value.new or 0) - (record.value.old or 0)))


assert_type(b.add_processor("deltas", Deltas, clicked), Node[str, int])
