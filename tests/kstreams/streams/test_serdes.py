"""Serdes follow from topics, annotations, lambdas and options; otherwise the call fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar, cast

import pytest

from kstreams import BYTES, DOUBLE, INT64, NONE, TEXT, Serde, Topic
from kstreams.aggregators import count, fold, mean, sum_
from kstreams.joins import left_value, right_value
from kstreams.serde import BOOL, INT32
from kstreams.serde.composite import TupleSerde
from kstreams.streams import Stream, Streams
from kstreams_json import json_serde
from tests.kstreams.streams.shop import ORDER, ORDERS, Order, customer_of, line, refused

if TYPE_CHECKING:
    from decimal import Decimal

T = TypeVar("T")


@dataclass(frozen=True)
class Line:
    text: str
    number: int = 0

    @property
    def length(self) -> int:
        return len(self.text)


@dataclass(frozen=True)
class Box(Generic[T]):
    content: T


class Pair(NamedTuple):
    one: str
    two: float


class Pricing:
    def __call__(self, order: Order) -> float:
        return order.price

    def of(self, order: Order) -> float:
        return order.price


class Endless:
    """An object with any attribute, itself."""

    def __call__(self, order: Order) -> str:
        return order.item

    def __getattr__(self, name: str) -> Endless:
        return self


def line_of(order: Order) -> Line:
    return Line(order.item)


def price_of(order: Order, factor: float = 1.0) -> float:
    return order.price * factor


def optional_item(order: Order) -> str | None:
    return order.item or None


def annotated_item(order: Order) -> Annotated[str, ["no hash"]]:
    return order.item


def item_for_checkers(order: Order, rate: Decimal | None = None) -> str:
    return f"{order.item}{rate}"


def pair_of(order: Order) -> tuple[str, float]:
    return order.item, order.price


def decorated(function: Callable[[Order], T]) -> Callable[[Order], T]:
    @wraps(function)
    def call(order: Order) -> T:
        return function(order)

    return call


def undeclared(order):  # type: ignore[no-untyped-def]  # on purpose
    return order.item


def circular(order: Order) -> str:
    return order.item


circular.__wrapped__ = circular  # type: ignore[attr-defined]  # on purpose


def value_serde(function: Any, **options: Any) -> Serde[Any]:
    """Return the value serde of the store of a table below a step with the function."""
    streams = Streams("serdes", **options)
    streams.stream(ORDERS).map_values(function).to_table(store="table")
    (spec,) = streams.build().stores
    return spec.value


@pytest.mark.parametrize(
    ("function", "serde"),
    [
        (price_of, DOUBLE),
        (partial(price_of, factor=2.0), DOUBLE),
        (Pricing(), DOUBLE),
        (Pricing().of, DOUBLE),
        (optional_item, TEXT),
        (annotated_item, TEXT),
        (item_for_checkers, TEXT),
        (Endless(), TEXT),
        (decorated(price_of), DOUBLE),
        (pair_of, TupleSerde(TEXT, DOUBLE)),
        (line_of, json_serde(Line)),
        (lambda order: order, ORDER),
        (lambda order: order.customer, TEXT),
        (lambda order: (order.customer, order.price), TupleSerde(TEXT, DOUBLE)),
        (lambda order: f"{order.customer}: {order.price!r}", TEXT),
        (lambda _: 3, INT64),
        (lambda _: True, BOOL),
        (lambda _: "text", TEXT),
        (lambda _: b"bytes", BYTES),
        (lambda _: None, NONE),
    ],
)
def test_serde_of_declared_or_visible_result_is_found(
    function: Callable[[Order], object], serde: Serde[Any]
) -> None:
    assert value_serde(function, serdes=[json_serde(Line)]) == serde


@pytest.mark.parametrize(
    "function",
    [
        undeclared,
        circular,
        eval("lambda order: order.item.upper()"),  # noqa: S307  # a lambda without a source
        lambda order: order.item.upper(),
        lambda order: order.price * 2,
        lambda order: order.item if order.price else order.customer,
        lambda order: f"{order.price:.2f}" + order.item,
        lambda order: [order.item],
        lambda order: order.unknown,
        max,
        partial(max, 3),
    ],
)
def test_undeclared_result_is_error_of_call_that_needs_its_serde(
    function: Callable[[Order], object],
) -> None:
    stream = Streams("unknown").stream(ORDERS).map_values(function)
    text = refused(stream.to_table)
    assert "to_table() at test_serdes.py:" in text or "to_table() at shop.py:" in text
    assert "needs the serde of the values" in text
    assert f"map_values({title(function)}) at test_serdes.py:" in text
    assert "or pass value=... there." in text


def title(function: Any) -> str:
    function = function.func if isinstance(function, partial) else function
    return "a lambda" if function.__name__ == "<lambda>" else str(function.__name__)


def test_lambda_typed_without_source_has_serde_of_the_field_that_it_returns() -> None:
    assert value_serde(eval("lambda o: o.customer")) == TEXT  # noqa: S307


def test_fields_of_generic_classes_properties_and_named_tuples_are_found() -> None:
    def box_of(order: Order) -> Box[float]:
        return Box(order.price)

    def line_of_item(order: Order) -> Line:
        return Line(order.item)

    def pair(order: Order) -> Pair:
        return Pair(order.item, order.price)

    def box_of_any(order: Order) -> Box[T]:
        return Box(cast("T", order.price))

    streams = Streams("generic", make_serde=json_serde)
    orders = streams.stream(ORDERS)
    orders.map_values(box_of).map_values(lambda box: box.content).to_table(store="box")
    orders.map_values(line_of_item).map_values(lambda each: each.length).to_table(store="length")
    orders.map_values(pair).map_values(lambda each: each.two).to_table(store="pair")
    found = {spec.name: spec.value for spec in streams.build().stores}
    assert found == {"box": DOUBLE, "length": INT64, "pair": DOUBLE}
    other = Streams("any", make_serde=json_serde)
    unknown: Stream[bytes, object] = other.stream(ORDERS).map_values(box_of_any)
    text = refused(unknown.to_table)
    assert "has no serde of" in text
    assert "Hint: add the serde of the type to Streams(serdes=[...]), or pass " in text


def test_serde_given_at_call_has_precedence_over_annotation() -> None:
    streams = Streams("given")
    streams.stream(ORDERS).map_values(lambda _: 3, value=INT32).to_table(store="table")
    assert [spec.value for spec in streams.build().stores] == [INT32]


def test_given_serde_has_precedence_over_that_of_topic() -> None:
    own = json_serde(Order, name="own")
    assert value_serde(same, serdes=[own]) == own


def same(order: Order) -> Order:
    return order


def test_serde_of_topic_is_used_for_its_class_in_later_steps() -> None:
    assert value_serde(same) == ORDER


def test_two_serdes_of_topics_for_one_class_are_error_where_serde_is_needed() -> None:
    streams = Streams("two")
    orders = streams.stream(ORDERS)
    streams.stream(Topic("old-orders", BYTES, json_serde(Order, name="old")))
    text = refused(orders.map_values(same).to_table)
    assert "topics have the serdes" in text
    assert "for Order, and Streams(serdes=[...]) has none" in text


def test_error_names_failed_make_serde() -> None:
    def broken(type_: type[T], /) -> Serde[T]:
        raise ValueError(f"no {type_.__name__}")

    def wrong(type_: type[T], /) -> Serde[T]:
        return cast("Serde[T]", 5)

    orders = Streams("broken", make_serde=broken).stream(ORDERS).map_values(line_of)
    text = refused(orders.to_table)
    assert "make_serde=" in text
    assert "broken(Line) failed (no Line)" in text
    orders = Streams("wrong", make_serde=wrong).stream(ORDERS).map_values(line_of)
    assert "returned a int, not a serde" in refused(orders.to_table)


def test_unreadable_annotation_is_named_in_error() -> None:
    @dataclass(frozen=True)
    class Local:
        text: str

    def local_of(order: Order) -> Local:
        return Local(order.item)

    orders = Streams("local").stream(ORDERS).map_values(local_of)
    text = refused(orders.to_table)
    assert "the type of the result of local_of cannot be read (name 'Local' is not defined)" in text


@pytest.mark.parametrize("given", [[Order], [5], [NoType := type("NoType", (), {})()]])
def test_streams_reject_object_that_is_not_a_typed_serde(given: list[Any]) -> None:
    assert "is not a serde of one type" in refused(lambda: Streams("wrong", serdes=given))


def test_joined_values_of_one_side_have_its_serde() -> None:
    streams = Streams("sides")
    orders, lines = streams.stream(ORDERS), streams.table(Topic("lines", BYTES, json_serde(Line)))
    orders.join(lines, left_value).to_table(store="left")
    orders.left_join(lines, right_value).to_table(store="right")
    found = {spec.name: spec.value for spec in streams.build().stores if spec.name != "lines"}
    assert found == {"left": ORDER, "right": json_serde(Line)}


def test_serdes_of_results_of_flat_map_and_map_follow_from_types() -> None:
    def items(order: Order) -> Iterator[str]:
        yield order.item

    def pairs(_: bytes, order: Order) -> list[tuple[str, float]]:
        return [(order.item, order.price)]

    streams = Streams("flat")
    orders = streams.stream(ORDERS)
    orders.flat_map_values(items).to_table(store="items")
    orders.flat_map(pairs).to_table(store="pairs")
    orders.map(lambda key, order: (order.customer, order.price)).to_table(store="mapped")
    found = {spec.name: (spec.key, spec.value) for spec in streams.build().stores}
    expected = {"items": (BYTES, TEXT), "pairs": (TEXT, DOUBLE), "mapped": (TEXT, DOUBLE)}
    assert found == expected


def test_serde_that_no_step_needs_may_be_unknown() -> None:
    streams = Streams("unneeded")
    texts = streams.stream(ORDERS).map_values(lambda order: order.item.upper())
    texts.filter(lambda _, text: text != "").to(Topic("texts", BYTES, TEXT))
    assert streams.build().stores == ()


def test_error_of_unknown_key_names_group_by_with_line_and_next_step() -> None:
    orders = Streams("keys").stream(ORDERS)
    grouped = orders.group_by(lambda _, order: order.item.upper()); here = line()  # fmt: skip  # noqa: E702
    text = refused(grouped.count)
    assert (
        "needs the serde of the keys, but a lambda does not declare the type of its result: "
        f"group_by(a lambda) at {here}\nHint: declare the type of the function's result (-> ...), "
        "or pass key=... there." in text
    )


def test_error_of_aggregate_names_the_method_and_the_aggregator() -> None:
    orders = Streams("keys").stream(ORDERS)
    grouped = orders.group_by(lambda _, order: order.item.upper()).over(lambda order: order.price)
    text = refused(lambda: grouped.aggregate(sum_(DOUBLE)))
    assert text.startswith("aggregate(sum) at test_serdes.py:")
    assert "needs the serde of the keys" in text


def test_error_of_left_join_without_range_names_the_method() -> None:
    streams = Streams("near")
    other: Any = streams.stream(Topic("others", BYTES, TEXT))
    orders = streams.stream(ORDERS)
    text = refused(lambda: orders.left_join(other, left_value))
    assert text.startswith("left_join(left_value) at test_serdes.py:")


def test_results_of_aggregators_have_serde_of_declared_type() -> None:
    streams = Streams("results")
    prices = streams.stream(ORDERS).group_by(customer_of).over(lambda order: order.price)
    fold_: Any = fold(INT64, int, lambda old, _: old + 1)
    made: dict[str, Any] = {"mean": mean(), "count": count(), "sum": sum_(DOUBLE), "f": fold_}
    for name, aggregator in made.items():
        prices.aggregate(aggregator).updates().to_table(store=f"{name}-table")
    found = {s.name: s.value for s in streams.build().stores if s.name.endswith("-table")}
    expected = {"mean-table": DOUBLE, "count-table": INT64, "sum-table": DOUBLE, "f-table": INT64}
    assert found == expected
