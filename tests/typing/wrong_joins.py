"""Every line marked red must be refused by both type checkers, and no other line."""

from __future__ import annotations

from kstreams import (
    INT64,
    TEXT,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    TopologyBuilder,
    aggregate,
    timestamped_store,
)
from kstreams.aggregators import collect, count, max_, mean
from kstreams.durations import minutes
from kstreams.emit import on_close
from kstreams.joins import Change, JoinProcessor, inner, left, outer, within
from kstreams.stores import (
    join_store,
    key_value_store,
    queue_store,
    versioned_key_value_store,
)
from kstreams.topology import AppTable, feed

b = TopologyBuilder("wrong")
CLICKS = Topic("clicks", TEXT, INT64)
TEXTS = Topic("texts", TEXT, TEXT)
clicks = b.add_source("clicks", CLICKS)
texts = b.add_source("texts", TEXTS)
numbered = b.add_source("numbered", Topic("numbered", INT64, INT64))
COUNTS = timestamped_store("counts", key=TEXT, value=INT64)
USERS = timestamped_store("users", key=TEXT, value=TEXT)
PEOPLE = timestamped_store("people", key=INT64, value=TEXT)
RATES = versioned_key_value_store("rates", key=TEXT, value=INT64, retention=minutes(1))
DEVICES = timestamped_store("devices", key=INT64, value=TEXT)
TEXTUAL = timestamped_store("textual", key=TEXT, value=TEXT)
LISTS = timestamped_store("lists", key=TEXT, value=collect(INT64).state)
PLAIN = key_value_store("plain", key=TEXT, value=TEXT)
clicked = b.aggregate_table("clicked", aggregate(count(), store=COUNTS), clicks)
users = b.add_table("users", Topic("users", TEXT, TEXT), store=USERS)
people = b.add_table("people", Topic("people", INT64, TEXT), store=PEOPLE)
rates = b.add_table("rates", Topic("rates", TEXT, INT64), store=RATES)
devices = b.add_global_table("devices", Topic("devices", INT64, TEXT), store=DEVICES)
loop = b.add_loop("loop", key=TEXT, value=INT64)
MINUTE = minutes(1)
NEAR = within(MINUTE, grace=MINUTE)
PAIRS = join_store("pairs", key=TEXT, left=INT64, right=TEXT)
HELD = queue_store("held", key=TEXT, value=INT64)


def with_user(_: int, user: str) -> str:
    return user


def with_number(_: int, number: int) -> str:
    return str(number)


def longer(old: str | None, record: Record[str, str]) -> str:
    return (old or "") + record.value


def both(one: str, other: str) -> str:
    return one + other


def either(one: str | None, other: str | None) -> str:
    return (one or "") + (other or "")


def with_name(_: str, text: str) -> str:
    return text


def length(_: str, text: str) -> int:
    return len(text)


def twice(_: str, number: int) -> int:
    return 2 * number


def with_key(key: str, _: int) -> str:
    return key


def swapped(user: str, _: int) -> str:
    return user


class Reads(Processor[str, int, str, int]):
    """Reads tables, which it cannot write."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        users = context.reader(USERS)
        users.put("ann", "Ann", 0)  # red
        users.get(1)  # red
        context.reader("users")  # red
        context.reader(PLAIN)  # red
        users.get_as_of("ann", 0)  # red
        context.forward(Record("ann", users.get("ann"), 0))  # red


def on_number(old: int | None, record: Record[str, int]) -> int | None:
    return (old or 0) + record.value


class Both(JoinProcessor[str, int, str, str, str]):
    """Joins numbers and text."""

    def process_left(self, record: Record[str, int]) -> None:
        self.context.forward(record)  # red

    def process_right(self, record: Record[str, str]) -> None:
        self.context.forward(record)


class Deltas(Processor[str, Change[int], str, int]):
    """Takes changes."""

    def process(self, record: Record[str, Change[int]]) -> None:
        record.value.new + 1  # red


# tables
b.add_table("x", Topic("x", TEXT, INT64), store=USERS)  # red
b.add_table("x", Topic("x", INT64, TEXT), store=USERS)  # red
b.add_table("x", Topic("x", TEXT, TEXT), store=PLAIN)  # red
b.add_table("x", Topic("x", TEXT, TEXT))  # red
b.add_table("x", texts, store=USERS)  # red
b.to_table("x", clicks, store=USERS)  # red
b.to_table("x", users, store=USERS)  # red
b.to_table("x", TEXTS, store=USERS)  # red
aggregate(mean(), store=COUNTS)  # red
b.aggregate_table("x", count(), clicks)  # red
b.aggregate_table("x", aggregate(count(), store=PEOPLE), clicks)  # red
b.derive("x", clicks, lambda _, n: n)  # red
b.derive("x", users, lambda _, text: text.nothing)  # red
b.derive("x", users, lambda _, text: len(text), store=USERS)  # red
b.to_stream("x", clicks)  # red
b.to_stream("x", clicked, emit=on_close())  # red

# joins
b.join_table("x", clicks, users, outer(lambda c, u: c))  # red
b.join_table("x", users, clicks, inner(with_user))  # red
b.join_table("x", clicks, texts, inner(with_user))  # red
b.join_table("x", clicks, users, left(with_user))  # red
b.join_table("x", clicks, users, inner(with_number))  # red
b.join_table("x", clicks, users, inner(swapped))  # red
b.join_table("x", clicks, people, inner(with_user))  # red
b.join_table("x", numbered, users, inner(with_user))  # red
b.join_table("x", clicks, users, with_user)  # red
b.join_table("x", clicks, users, inner(lambda n, user: n + user))  # red
b.join_tables("x", clicked, users, outer(with_user))  # red
b.join_tables("x", clicked, people, inner(with_user))  # red
b.join_tables("x", users, clicked, inner(with_user))  # red
b.join_tables("x", clicked, texts, inner(with_user))  # red
b.join_tables("x", clicked, users, inner(with_user), store=COUNTS)  # red
b.add_join("x", Both, texts, clicks)  # red
b.add_join("x", Both, clicks, users)  # red
b.add_join("x", Reads, clicks, texts)  # red
b.add_processor("x", Both, clicks)  # red

# joins of streams, and as of a time
join_store("x", key=TEXT, left=INT64)  # red
within(minutes(1))  # red
within(1, grace=minutes(1))  # red
b.join_streams("x", clicks, texts, inner(with_number), within=NEAR, store=PAIRS)  # red
b.join_streams("x", texts, clicks, inner(swapped), within=NEAR, store=PAIRS)  # red
b.join_streams("x", clicks, texts, left(with_user), within=NEAR, store=PAIRS)  # red
b.join_streams("x", clicks, texts, outer(with_user), within=NEAR, store=PAIRS)  # red
b.join_streams("x", clicks, users, inner(with_user), within=NEAR, store=PAIRS)  # red
b.join_streams("x", clicks, texts, inner(lambda n, t: n + t), within=NEAR, store=PAIRS)  # red
b.join_streams("x", clicks, texts, inner(with_user), within=minutes(1), store=PAIRS)  # red
b.join_streams("x", clicks, texts, inner(with_user), within=NEAR, store=COUNTS)  # red
b.join_streams("x", clicks, texts, inner(with_user), within=NEAR)  # red
b.join_as_of("x", clicks, users, inner(with_user), grace=MINUTE, waiting=HELD)  # red
b.join_as_of("x", clicks, rates, outer(with_number), grace=MINUTE, waiting=HELD)  # red
b.join_as_of("x", texts, rates, inner(with_number), grace=MINUTE, waiting=HELD)  # red
b.join_as_of("x", clicks, rates, inner(with_number), grace=MINUTE, waiting=COUNTS)  # red
b.join_as_of("x", clicks, rates, inner(with_number), waiting=HELD)  # red

# tables of several inputs, of other keys and of other tables' rows
b.cogroup("x", feed(clicks, longer), store=TEXTUAL)  # red
b.cogroup("x", feed(texts, longer), store=COUNTS)  # red
b.cogroup("x", feed(texts, swapped), store=TEXTUAL)  # red
b.cogroup("x", feed(users, longer), store=TEXTUAL)  # red
b.cogroup("x", texts, store=TEXTUAL)  # red
b.cogroup("x", feed(texts, longer))  # red
b.join_foreign("x", users, people, inner(both), by=with_name, store=TEXTUAL)  # red
b.join_foreign("x", users, people, outer(either), by=length, store=TEXTUAL)  # red
b.join_foreign("x", users, people, left(both), by=length, store=TEXTUAL)  # red
b.join_foreign("x", users, people, inner(both), by=length, store=COUNTS)  # red
b.join_foreign("x", texts, people, inner(both), by=length, store=TEXTUAL)  # red
b.join_foreign("x", users, texts, inner(both), by=with_name, store=TEXTUAL)  # red
b.regroup("x", users, with_name, max_(INT64), store=COUNTS)  # red
b.regroup("x", clicked, with_key, max_(INT64), store=COUNTS)  # red
b.regroup("x", clicked, with_key, collect(INT64), store=LISTS)  # red
b.regroup("x", texts, with_name, count(), store=COUNTS)  # red
b.regroup("x", users, length, count(), store=COUNTS)  # red
b.regroup("x", users, with_name, count(), store=TEXTUAL)  # red

# global tables
b.add_global_table("x", Topic("x", TEXT, TEXT))  # red
b.add_global_table("x", Topic("x", TEXT, INT64), store=USERS)  # red
b.add_global_table("x", AppTable("checkpoint", PLAIN))  # red
b.join_table("x", clicks, devices, inner(with_user))  # red
b.join_tables("x", clicked, devices, inner(with_user))  # red
b.join_global("x", clicks, users, inner(with_user), by=with_number)  # red
b.join_global("x", clicks, devices, outer(with_user), by=twice)  # red
b.join_global("x", clicks, devices, left(with_user), by=twice)  # red
b.join_global("x", clicks, devices, inner(with_user), by=with_key)  # red
b.join_global("x", clicks, devices, inner(with_user))  # red
b.add_sink("x", TEXTS, devices)  # red

# loops
b.close_loop(loop, texts)  # red
b.close_loop(clicks, clicks)  # red
b.add_loop("x", key=TEXT)  # red
b.add_sink("x", TEXTS, loop)  # red

# changes are not values, and deletions need a topic that accepts them
b.add_sink("x", CLICKS, clicked)  # red
b.add_sink("x", CLICKS, b.to_stream("x", clicked))  # red
b.merge("x", clicked, clicks)  # red
b.repartition("x", b.to_stream("x", clicked), key=TEXT, value=INT64)  # red
b.add_processor("x", Deltas, clicks)  # red
b.add_processor("x", Reads, clicks, reads=["users"])  # red
b.add_processor("x", Reads, clicks, reads=USERS)  # red

# tables of several inputs
b.cogroup("x", feed(clicks, on_number), store=USERS)  # red
b.cogroup("x", feed(texts, on_number), store=COUNTS)  # red
b.cogroup("x", feed(numbered, on_number), store=COUNTS)  # red
b.cogroup("x", on_number, store=COUNTS)  # red
b.cogroup("x", feed(clicks, on_number), store=PLAIN)  # red
b.add_table("x", CLICKS, store=COUNTS, ttl=10)  # red
