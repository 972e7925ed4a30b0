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
from kstreams.aggregators import count, mean
from kstreams.durations import minutes
from kstreams.emit import on_close
from kstreams.joins import Change, JoinProcessor, inner, left, outer
from kstreams.stores import key_value_store, versioned_key_value_store
from kstreams.topology import feed

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
PLAIN = key_value_store("plain", key=TEXT, value=TEXT)
clicked = b.aggregate_table("clicked", aggregate(count(), store=COUNTS), clicks)
users = b.add_table("users", Topic("users", TEXT, TEXT), store=USERS)
people = b.add_table("people", Topic("people", INT64, TEXT), store=PEOPLE)
rates = b.add_table("rates", Topic("rates", TEXT, INT64), store=RATES)


def with_user(_: int, user: str) -> str:
    return user


def with_number(_: int, number: int) -> str:
    return str(number)


def swapped(user: str, _: int) -> str:
    return user


class Reads(Processor[str, int, str, int]):
    """Reads tables, and may do no more with them."""

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
    """Takes numbers and text."""

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

# changes are no values, and deletions need a topic that takes them
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
