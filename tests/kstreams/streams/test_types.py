"""Declared types are compared with the serdes that write them; unknown types are accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from typing_extensions import TypeIs

from kstreams import BYTES, DOUBLE, INT64, NONE, TEXT, Serde, Topic
from kstreams.aggregators import mean
from kstreams.durations import minutes
from kstreams.emit import on_close
from kstreams.io import topic_by
from kstreams.joins import Service, left_value, right_value
from kstreams.serde import BOOL
from kstreams.streams import Streams, classes
from kstreams.windows import SessionWindows, TumblingWindows, windowed
from kstreams_json import json_serde
from tests.kstreams.streams.shop import NAMES, ORDERS, TEXTS, Order, line, refused

MINUTE = TumblingWindows(minutes(1))


@dataclass(frozen=True)
class Dear(Order):
    """An order that is a subclass."""


@dataclass(frozen=True)
class Refund:
    customer: str


class EventSerde(Serde[Order | Refund]):
    """A serde that has a type, but is never used."""

    name = "event"
    type_token = Order | Refund

    def serialize(self, value: Order | Refund) -> bytes:
        raise NotImplementedError

    def deserialize(self, data: bytes) -> Order | Refund:
        raise NotImplementedError


EITHER = EventSerde()
EVENTS = Topic("events", key=BYTES, value=EITHER)
ORDERS_COPY = Topic("orders-copy", key=BYTES, value=json_serde(Order))


def price_of(order: Order) -> float:
    return order.price


def count_of(order: Order) -> int:
    return len(order.item)


def item_of(order: Order) -> str | None:
    return order.item or None


def dear_of(order: Order) -> Dear:
    return Dear(order.customer, order.item, order.price)


def is_dear_of(order: Order) -> bool:
    return order.price > 100


def undeclared(order):  # type: ignore[no-untyped-def]  # on purpose
    return order.price


def items_of(order: Order) -> list[str]:
    return [order.item]


def out(value: Serde[Any], key: Serde[Any] = BYTES) -> Any:
    return Topic("out", key=key, value=value)


@pytest.mark.parametrize(
    ("function", "value", "shown"),
    [
        (price_of, INT64, ("float", "int")),
        (price_of, TEXT, ("float", "str")),
        (item_of, INT64, ("str", "int")),
        (dear_of, json_serde(Refund), ("Dear", "Refund")),
        (lambda order: order.price, TEXT, ("float", "str")),
        (lambda order: (order.item, order.price), TEXT, ("tuple[str, float]", "str")),
    ],
)
def test_topic_of_another_type_is_error_of_to_with_both_types_and_function(
    function: Callable[[Order], Any], value: Serde[Any], shown: tuple[str, str]
) -> None:
    orders = Streams("types").stream(ORDERS)
    made = orders.map_values(function); here = line()  # fmt: skip  # noqa: E702
    text = refused(lambda: made.filter(lambda _, value: True).to(out(value)))
    assert text.startswith("to(topic 'out') at test_types.py:")
    assert f"writes values of type {shown[0]} (from map_values(" in text
    assert f" at {here}), but the values of topic 'out' are of type {shown[1]}" in text
    assert "Hint: convert the values, by map_values(...), or define the topic with another" in text


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (count_of, DOUBLE),  # an int is a float for type checkers, too
        (is_dear_of, INT64),
        (is_dear_of, BOOL),
        (item_of, TEXT),  # without None
        (dear_of, json_serde(Order)),
        (dear_of, EITHER),
        (undeclared, TEXT),
        (lambda order: order.price * 2, TEXT),
        (lambda order: order.unknown, TEXT),
    ],
)
def test_topic_accepts_its_type_and_subclasses_compatible_numbers_and_unknown_types(
    function: Callable[[Order], Any], value: Serde[Any]
) -> None:
    streams = Streams("types")
    streams.stream(ORDERS).map_values(function).to(out(value))
    assert streams.build().sinks


def test_types_are_known_after_steps_that_keep_values() -> None:
    streams = Streams("kept")
    prices = streams.stream(ORDERS).map_values(price_of)
    wrong = out(TEXT)
    kept = [
        prices.filter(lambda _, __: True),
        prices.named("prices"),
        prices.peek(lambda _, __: None),
        prices.split(lambda _, price: price > 1)[0],
        prices.validate(lambda _, __: None)[0],
        prices.repartition(),
        prices.deduplicate(lambda key, _: key, within=minutes(1)),
        prices.to_table().to_stream(),
        prices.to_table().filter(lambda _, __: True).to_stream(),
    ]
    both = prices.merge(streams.stream(ORDERS).map_values(price_of))
    assert "writes values of type float (from merge() at" in refused(lambda: both.to(wrong))
    for each in kept:
        assert "writes values of type float (from map_values(price_of)" in refused(
            lambda each=each: each.to(wrong)  # type: ignore[misc]
        )


def test_types_of_sources_aggregations_and_joins_are_checked_against_topics() -> None:
    streams = Streams("sources")
    orders = streams.stream(ORDERS)
    rows = streams.table(Topic("rows", key=BYTES, value=TEXT))
    averages = orders.group_by_key().over(lambda order: order.price).aggregate(mean())
    found: dict[str, Callable[[], object]] = {
        "values of type Order (from stream('orders') at": lambda: orders.to(out(TEXT)),
        "values of type int (from count() at": lambda: orders.group_by_key().count().to(out(TEXT)),
        "values of type float (from aggregate(mean) at": lambda: averages.to(out(TEXT)),
        "values of type Order (from join(left_value) at": lambda: orders.join(rows, left_value).to(
            out(TEXT)
        ),
        "values of type str (from left_join(right_value) at": lambda: orders.left_join(
            rows, right_value
        ).to(out(INT64)),
        "values of type str (from table('rows') at": lambda: rows.to(out(INT64)),
    }
    for expected, make in found.items():
        assert expected in refused(make)


def test_key_of_another_type_is_error_of_to() -> None:
    orders = Streams("keys").stream(ORDERS).select_key(lambda _, order: order.customer)
    text = refused(lambda: orders.to(ORDERS_COPY))  # type: ignore[arg-type]  # on purpose
    assert "writes keys of type str (from select_key(a lambda) at" in text
    assert "but the keys of topic 'orders-copy' are of type bytes" in text
    assert "Hint: convert the keys, by select_key(...)" in text


def test_value_type_is_checked_against_chosen_topics_and_loops() -> None:
    streams = Streams("targets")
    prices: Any = streams.stream(ORDERS).map_values(price_of)
    choice: Any = topic_by(lambda _: "out", key=BYTES, value=TEXT)
    loop: Any = streams.loop("again", key=BYTES, value=TEXT)
    assert "but the values of its topics are of type str" in refused(lambda: prices.to(choice))
    assert "but the values of loop 'again' are of type str" in refused(lambda: prices.to(loop))


def test_only_by_type_and_narrow_replace_the_value_type() -> None:
    def is_order(event: Order | Refund) -> TypeIs[Order]:
        return isinstance(event, Order)

    streams = Streams("classes")
    events = streams.stream(EVENTS)
    orders, refunds = events.by_type(classes(Order, Refund))
    assert "values of type Refund (from by_type() at" in refused(
        lambda: refunds.to(ORDERS_COPY)  # type: ignore[arg-type]  # on purpose
    )
    orders.to(ORDERS_COPY)
    events.only(Order).to(Topic("only", key=BYTES, value=json_serde(Order)))
    events.narrow(is_order).to(Topic("narrow", key=BYTES, value=json_serde(Order)))
    assert len(streams.build().sinks) == 3


def test_windowed_keys_need_a_windowed_serde_and_the_error_shows_it() -> None:
    counts = Streams("windows").stream(TEXTS).group_by_key().windowed_by(MINUTE).count()
    text = refused(lambda: counts.to(Topic("out", key=TEXT, value=INT64)))  # type: ignore[arg-type]
    assert "writes keys of type Windowed[str] (from count() at" in text
    assert "Hint: define the topic with key=windowed(text, TumblingWindows(size=0:01:00))." in text


def test_late_records_are_named_with_their_type_and_next_step() -> None:
    counts = Streams("late").stream(TEXTS).group_by_key().windowed_by(MINUTE, emit=on_close())
    text = refused(lambda: counts.count().late.to(TEXTS))  # type: ignore[arg-type]
    assert "writes values of type Late[str] (from count() at" in text
    assert "Hint: convert the late records, by map_values(...): late.value is the value." in text


def test_fields_of_late_records_windowed_keys_and_invalid_values_have_types() -> None:
    streams = Streams("fields")
    texts = streams.stream(TEXTS)
    counts = texts.group_by_key().windowed_by(MINUTE, emit=on_close()).count()
    counts.late.map_values(lambda late: late.value).to_table(store="late")
    counts.select_key(lambda window, _: window.key).to_table(store="keys")
    counts.select_key(lambda window, _: window.start_ms).to_table(store="starts")
    _, invalid = texts.validate(lambda _, text: None if text else "empty")
    invalid.map_values(lambda found: (found.value, found.reason)).to_table(store="invalid")
    found = {spec.name: (spec.key.name, spec.value.name) for spec in streams.build().stores}
    assert found["late"] == ("text", "text")
    assert found["keys"] == ("text", "int64")
    assert found["starts"] == ("int64", "int64")
    assert found["invalid"] == ("text", "tuple(text, text)")


def test_serde_of_call_for_another_type_is_error_of_call() -> None:
    orders: Any = Streams("given").stream(ORDERS)
    text = refused(lambda: orders.map_values(price_of, value=TEXT))
    assert "map_values(price_of) at test_types.py:" in text
    assert "makes float, but its serde text is for str" in text
    assert "makes str, but" in refused(lambda: orders.flat_map_values(items_of, value=INT64))
    assert "makes bytes, but" in refused(lambda: orders.group_by(lambda key, _: key, key=TEXT))
    orders.map_values(item_of, value=TEXT)
    orders.map_values(undeclared, value=TEXT)
    orders.map_values(lambda _: None, value=NONE)


def test_foreign_key_of_another_type_is_error_of_join_by() -> None:
    streams = Streams("foreign")
    cities = Topic("cities", key=INT64, value=TEXT)
    orders: Any = streams.stream(ORDERS)
    names: Any = streams.table(NAMES)

    def by_item(_: bytes, order: Order) -> str | None:
        return order.item

    both = {
        "stream": lambda: orders.join_by(streams.global_table(cities), by_item, left_value),
        "table": lambda: names.left_join_by(
            streams.table(Topic("towns", key=INT64, value=TEXT)), lambda _, name: name, left_value
        ),
    }
    text = refused(both["stream"])
    assert "join_by(left_value) at test_types.py:" in text
    assert "finds rows of 'cities' by by_item, which returns str" in text
    assert "but the keys of 'cities' are of type int" in text
    assert "finds rows of 'towns' by a lambda, which returns str" in refused(both["table"])


def test_foreign_key_of_the_type_or_of_unknown_type_is_accepted() -> None:
    async def ask(questions: Iterable[str]) -> dict[str, int]:
        return dict.fromkeys(questions, 1)

    streams = Streams("foreign")
    names = streams.table(NAMES)
    texts = streams.global_table(Topic("texts", key=TEXT, value=TEXT))
    orders = streams.stream(ORDERS)
    orders.join_by(texts, lambda _, order: order.item, lambda o, t: t).to(out(TEXT))
    orders.join_by(texts, lambda _, order: order.item.upper(), left_value).to(ORDERS_COPY)
    service: Service[str, int] = Service(ask)
    orders.join_by(service, lambda _, order: order.item, left_value).to(out(json_serde(Order)))
    others = streams.table(Topic("others", key=TEXT, value=TEXT))
    names.join_by(others, lambda _, name: name, left_value)
    assert len(streams.build().sinks) == 3


def test_session_keys_of_topics_with_other_windows_are_errors_of_build() -> None:
    streams = Streams("sessions")
    visits = streams.stream(TEXTS).group_by_key().windowed_by(SessionWindows(minutes(1)))
    visits.count().drop_nulls().to(Topic("out", key=windowed(TEXT, MINUTE), value=INT64))
    assert "has TumblingWindows(size=0:01:00)" in refused(streams.build)
