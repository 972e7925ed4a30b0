"""Unrelated edits of stateless steps change neither groups, nor edges, nor stores."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from kstreams import INT64, TEXT, Topic
from kstreams.durations import hours, minutes
from kstreams.graph.topology import Shape
from kstreams.streams import Stream, Streams
from kstreams.windows import TumblingWindows
from tests.kstreams.streams.shop import COUNTS, NAMES, ORDER, ORDERS, TEXTS, Order, customer_of

HOUR = TumblingWindows(hours(1))
CLICKS = Topic("clicks", TEXT, TEXT)
HOURLY, ITEMS, PAIRS = (
    Topic("hourly", TEXT, INT64),
    Topic("items", TEXT, INT64),
    Topic("p", TEXT, TEXT),
)
Orders = Stream[bytes, Order]
Step = Callable[[Orders], Orders]


def is_cheap(_: bytes, order: Order) -> bool:
    return order.price < 5


STEPS: list[Step] = [
    lambda s: s.filter(is_cheap),
    lambda s: s.filter(lambda _, order: order.price > 3),
    lambda s: s.filter_not(lambda key, _: key == b""),
    lambda s: s.map_values(lambda order: order),
    lambda s: s.flat_map_values(lambda order: [order], value=ORDER),
    lambda s: s.peek(lambda _, order: None),
    lambda s: s.only(Order),
    lambda s: s.merge(s.filter(is_cheap)),
    lambda s: s.split(is_cheap)[1].named("orders"),
    lambda s: s.validate(lambda _, order: None)[0],
]
"""Steps without state that keep the keys."""


def shape(step: Step, *, first: bool, joined: bool) -> Shape:
    """Build an app with joins and aggregations.

    Args:
        step: Adds any steps at several places.
        first: Whether another pipeline comes first.
        joined: Whether another join of the same streams is added.
    """
    streams = Streams("shop")
    if first:
        streams.stream(TEXTS).group_by(lambda _, text: text).count().to(COUNTS)
    names = streams.table(NAMES)
    orders = step(streams.stream(ORDERS))
    by_customer = step(orders).select_key(customer_of)
    if joined:
        by_customer.join(names, lambda order, name: f"{order.item}{name}").to(
            Topic("j", TEXT, TEXT)
        )
    named = by_customer.left_join(names, lambda order, name: name or order.customer, value=TEXT)
    clicks = streams.stream(CLICKS).within(minutes(1), grace=minutes(1))
    named.join(clicks, lambda name, click: f"{name}{click}").to(PAIRS)
    grouped = named.group_by(lambda _, name: name, key=TEXT)
    counts = grouped.windowed_by(HOUR).count(store="hourly")
    counts.map(lambda window, number: (window.key, number), key=TEXT, value=INT64).to(HOURLY)
    step(step(orders)).group_by(lambda _, order: order.item).count().to(ITEMS)
    return streams.build().shape()


def check(edits: int, seed: int) -> None:
    chance = random.Random(seed)  # a test
    before = shape(lambda s: s, first=False, joined=False)

    def any_steps(stream: Orders) -> Orders:
        for _ in range(chance.randrange(4)):
            stream = chance.choice(STEPS)(stream)
        return stream

    for edit in range(edits):
        after = shape(any_steps, first=edit % 2 == 1, joined=edit % 3 == 1)
        assert _known(after, before) == before, (seed, edit)


def _known(after: Shape, before: Shape) -> Shape:
    """Return the groups of a shape that were there before, without the added join."""
    known = {name: dict(after[name]) for name in before}
    for name, parts in known.items():
        joins = before[name].get("joins", {})
        if "joins" in parts:
            parts["joins"] = {
                join: terms for join, terms in parts["joins"].items() if join in joins
            }
    return known


def test_random_edits_keep_groups_edges_and_stores() -> None:
    check(edits=40, seed=7)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_random_edits_keep_groups_edges_and_stores(seed: int) -> None:
    check(edits=1_000, seed=seed)
