"""Names of state are made of meaning; equal names are an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kstreams import DOUBLE, INT64, TEXT, Serde, Topic
from kstreams.aggregators import (
    Aggregator,
    collect,
    combine,
    count,
    field,
    first,
    fold,
    max_,
    mean,
    min_,
    over,
    sum_,
    top_n,
)
from kstreams.durations import hours, minutes, seconds
from kstreams.streams import GroupedStream, Streams
from kstreams.windows import (
    CalendarWindows,
    HoppingWindows,
    SessionWindows,
    SlidingWindows,
    TumblingWindows,
    UnlimitedWindows,
)
from tests.kstreams.streams.shop import (
    NAMES,
    ORDERS,
    OUT,
    TEXTS,
    Order,
    customer_of,
    edge_names,
    is_dear,
    line,
    refused,
    stores,
)

COUNTED = Topic("counted", TEXT, TEXT)


def by_customer() -> tuple[Streams, GroupedStream[str, Order]]:
    streams = Streams("shop")
    orders = streams.stream(ORDERS).filter(is_dear).peek(lambda _, order: None)
    return streams, orders.group_by(lambda _, order: order.customer)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (TumblingWindows(minutes(1)), "per-1m"),
        (TumblingWindows(minutes(1), grace=minutes(5)), "per-1m"),
        (TumblingWindows(hours(36)), "per-36h"),
        (HoppingWindows(minutes(5), minutes(1)), "per-5m-every-1m"),
        (SlidingWindows(seconds(90)), "within-90s"),
        (SessionWindows(minutes(30)), "sessions-30m"),
        (CalendarWindows("month", tz="Europe/Berlin"), "per-month-europe-berlin"),
        (CalendarWindows("day", 2), "per-2-day"),
        (UnlimitedWindows(), "unlimited"),
    ],
)
def test_store_of_windows_has_topic_key_operation_and_size_in_its_name(
    kind: Any, name: str
) -> None:
    streams, grouped = by_customer()
    grouped.windowed_by(kind).count()
    assert stores(streams.build()) == [f"orders-by-customer-count-{name}"]


@pytest.mark.parametrize(
    ("aggregator", "name"),
    [
        (count(), "count"),
        (max_(TEXT), "max"),
        (min_(TEXT), "min"),
        (first(TEXT), "first"),
        (collect(TEXT), "collect"),
        (top_n(3, TEXT, by=len), "top-3-by-len"),
        (fold(INT64, int, lambda old, record: old + len(record.value)), "fold"),
        (combine(count(), max_(TEXT)), "count-max"),
        (over(len, mean()), "len-mean"),
    ],
)
def test_store_of_aggregation_has_name_of_aggregator(
    aggregator: Aggregator[Any, Any, Any, Any], name: str
) -> None:
    streams = Streams("shop")
    streams.stream(TEXTS).group_by_key().aggregate(aggregator)
    assert stores(streams.build()) == [f"texts-{name}"]


def test_store_of_aggregated_part_has_name_of_field_function_or_lambda() -> None:
    streams, grouped = by_customer()
    grouped.over(field("price", DOUBLE)).aggregate(sum_(DOUBLE))
    grouped.over(lambda order: order.item).aggregate(max_(TEXT))
    grouped.over(lambda order: len(order.item)).reduce(max, value=INT64)
    assert stores(streams.build()) == [
        "orders-by-customer-item-max",
        "orders-by-customer-len-item-max",
        "orders-by-customer-price-sum",
    ]


class UntypedSerde(Serde[str]):
    """A serde whose type is not known, for functions of any type."""

    name = "untyped"

    def serialize(self, value: str) -> bytes:
        raise NotImplementedError

    def deserialize(self, data: bytes) -> str:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (customer_of, "by-customer-of"),
        (lambda _, order: order.customer, "by-customer"),
        (lambda key, value: (value.customer, value.item), "by-customer-item"),
        (lambda _, order: order.item.lower(), "by-item-lower"),
        (lambda _, order: order["customer"], "by-customer"),
        (lambda _, order: order, "by-value"),
        (lambda key, _: key, "by-key"),
        (lambda _k, _v: 1, "rekeyed"),
        (
            lambda _, order: (order.item, [o.customer for o in order.price]),
            "by-customer-item-price",
        ),
    ],
)
def test_grouped_stream_has_name_of_function_or_names_that_lambda_reads(
    function: Callable[[bytes, Any], Any], name: str
) -> None:
    streams = Streams("shop")
    streams.stream(ORDERS).group_by(function, key=UntypedSerde()).count()
    assert stores(streams.build()) == [f"orders-{name}-count"]


def test_joins_tables_and_processors_have_names_of_both_sides() -> None:
    streams = Streams("shop")
    texts, names = streams.stream(TEXTS), streams.table(NAMES)
    clicks = streams.stream(Topic("clicks", TEXT, TEXT))
    near = clicks.within(minutes(1), grace=minutes(1))
    both = texts.outer_join(near, lambda text, click: f"{text}{click}")
    both.group_by_key().count()
    texts.join(names, lambda text, name: f"{text}{name}").group_by_key().count()
    texts.to_table()
    texts.deduplicate(lambda _, text: text, within=minutes(1)).to(COUNTED)
    names.join_by(streams.table(OUT), lambda _, name: name, lambda one, two: f"{one}{two}")
    assert stores(streams.build()) == [
        "names",
        "names-join-out",
        "names-join-out-entered",
        "out",
        "texts-clicks-count",
        "texts-count",
        "texts-distinct-value",
        "texts-outer-join-clicks",
        "texts-table",
    ]


def test_named_method_and_store_argument_replace_derived_names() -> None:
    streams = Streams("shop")
    orders = streams.stream(ORDERS)
    orders.group_by(customer_of).count()
    orders.filter(is_dear).named("dear").group_by(customer_of).count()
    orders.group_by(lambda _, order: order.item).count(store="per-item")
    topology = streams.build()
    assert stores(topology) == [
        "dear-by-customer-of-count",
        "orders-by-customer-of-count",
        "per-item",
    ]
    assert edge_names(topology) == [
        "dear-by-customer-of-repartition",
        "orders-by-customer-of-repartition",
        "orders-by-item-repartition",
    ]


def test_build_reports_equal_names_with_both_calls_and_lines() -> None:
    streams = Streams("shop")
    orders = streams.stream(ORDERS)
    orders.group_by(customer_of).count(); one = line()  # fmt: skip  # noqa: E702
    orders.filter(is_dear).group_by(customer_of).count(); two = line()  # fmt: skip  # noqa: E702
    text = refused(streams.build)
    assert text.count("\n  - ") == 2
    assert (
        f"'orders-by-customer-of-count' would be the name of count() at {one} and of count() at "
        f"{two}: use one stream for both, or give one of them another name" in text
    )
    assert "'orders-by-customer-of-repartition' would be the name of the repartition of" in text


def test_build_reports_store_definition_with_name_of_another_store() -> None:
    streams = Streams("shop")
    orders = streams.stream(ORDERS)
    orders.group_by(customer_of).count(store="same")
    orders.group_by(lambda _, order: order.item).count(store="same")
    assert "'same' would be the name of count() at" in refused(streams.build)


def test_stateless_nodes_with_equal_names_are_numbered() -> None:
    streams = Streams("shop")
    orders = streams.stream(ORDERS)
    orders.filter(is_dear).filter(is_dear).to(ORDERS.__class__("dear", ORDERS.key, ORDERS.value))
    assert {"orders-filter-is-dear", "orders-filter-is-dear-2"} <= {*streams.build().nodes}
