"""Avro passes the test suite for serdes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any

import msgspec
import pyarrow as pa
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams_avro import avro_schema, avro_serde, avro_type

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text("a\x00é😀", max_size=5)
TIMES = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc))


def in_order(values: dict[str, Any]) -> dict[str, Any]:
    """Return a dict in the order in which it is written, which columns of maps keep."""
    return dict(sorted(values.items()))


@dataclass
class Order:
    id: int
    item: str
    price: float | None = None
    tags: list[str] = field(default_factory=list)


class Point(msgspec.Struct, frozen=True):
    x: int
    label: str | None = None


class Suit(Enum):
    SPADES = "s"
    HEARTS = "h"


class Sale(msgspec.Struct, rename="camel"):
    sold_at: datetime
    amount: Annotated[
        Decimal,
        avro_type({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}),
    ]
    suit: Suit
    first: Point | None
    by_name: dict[str, list[Point]]


class Opened(msgspec.Struct, tag=True):
    id: int


class Closed(msgspec.Struct, tag=True):
    id: int
    why: str


class Limited(msgspec.Struct):
    count: Annotated[int, msgspec.Meta(ge=0)]


class TestDataclasses(SerdeContract[Order]):
    recorded_name = "avro[Order#ae75471f0434c3ba]"
    examples = 15

    def serde(self) -> Serde[Order]:
        return avro_serde(Order)

    def values(self) -> Sequence[Order]:
        many = [Order(number, "x" * number) for number in range(20)]
        return [Order(1, "tea", 2.5, ["hot"]), Order(0, ""), Order(-(2**63), '"\n\x1b€'), *many]

    def strategy(self) -> st.SearchStrategy[Order]:
        prices = st.none() | st.floats(allow_nan=False)
        return st.builds(Order, LONGS, TEXTS, prices, st.lists(TEXTS, max_size=3))

    def wrong_objects(self) -> Sequence[object]:
        wrong: Any = Order
        return [{"id": 1}, Order(1, "\ud800"), Point(1), wrong("1", ""), wrong(1, "", True)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x02", b"\x02\x02a\x00\x00\x00", b"\x02\x02\xff\x00\x00"]

    def written(self) -> Sequence[WrittenBytes[Order]]:
        before = {"type": "record", "name": "Order", "fields": [
            {"name": "item", "type": "string"}, {"name": "gone", "type": "double"},
            {"name": "id", "type": "int"}]}  # fmt: skip
        return [
            WrittenBytes(b"\x02\x06tea\x00\x00", Order(1, "tea"), golden=True),
            WrittenBytes(
                b"\x06tea12345678\x04",
                Order(2, "tea"),
                avro_schema(before),
            ),
        ]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"id": pa.int64(), "item": pa.string(), "price": pa.float64()}

    def in_column(self, value: Order) -> object:
        return {name: getattr(value, name) for name in ("id", "item", "price", "tags")}


class TestFrozenStructs(SerdeContract[Point]):
    examples = 15

    def serde(self) -> Serde[Point]:
        return avro_serde(Point, namespace="shop")

    def values(self) -> Sequence[Point]:
        return [Point(1), Point(1, ""), Point(-5, "é"), *map(Point, range(20))]

    def strategy(self) -> st.SearchStrategy[Point]:
        return st.builds(Point, LONGS, st.none() | TEXTS)

    def wrong_objects(self) -> Sequence[object]:
        return [Order(1, "tea"), {"x": 1}, Point(2**63)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x02", b"\x02\x03", b"\x02\x04", b"\xff" * 11]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"x": pa.int64(), "label": pa.string()}

    def in_column(self, value: Point) -> object:
        return {"x": value.x, "label": value.label}


class TestLogicalAndNested(SerdeContract[Sale]):
    examples = 10

    def serde(self) -> Serde[Sale]:
        return avro_serde(Sale)

    def values(self) -> Sequence[Sale]:
        at = datetime(1969, 12, 31, 23, 59, 59, 999_999, timezone.utc)
        return [
            Sale(at, Decimal("-1.28"), Suit.HEARTS, Point(1), {"a": [Point(2, "x")], "b": []}),
            Sale(at, Decimal("0.00"), Suit.SPADES, None, {}),
        ] * 10

    def strategy(self) -> st.SearchStrategy[Sale]:
        amounts = st.integers(-(10**9) + 1, 10**9 - 1).map(lambda n: Decimal(n).scaleb(-2))
        points = st.builds(Point, LONGS, st.none() | TEXTS)
        names = st.dictionaries(TEXTS, st.lists(points, max_size=2), max_size=2).map(in_order)
        return st.builds(Sale, TIMES, amounts, st.sampled_from(Suit), st.none() | points, names)

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"sold_at": pa.timestamp("us", "UTC")}

    def in_column(self, value: Sale) -> object:
        def point(each: Point) -> object:
            return {"x": each.x, "label": each.label}

        return {
            "soldAt": value.sold_at,
            "amount": value.amount,
            "suit": value.suit.name,
            "first": None if value.first is None else point(value.first),
            "byName": [(name, list(map(point, points))) for name, points in value.by_name.items()],
        }


class TestUnionsOfStructs(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        found: Serde[Any] = avro_serde(Opened | Closed)
        return found

    def values(self) -> Sequence[Any]:
        return [Opened(1), Closed(1, ""), Closed(-1, "é")]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x04\x02", b"\x01\x02", b"\x00", b"\x00\x02\x02"]


class TestDicts(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        point = {"type": "record", "name": "Point", "fields": [{"name": "x", "type": "float"}]}
        return avro_serde(schema={"type": "map", "values": ["null", point]})

    def values(self) -> Sequence[Any]:
        return [{}, {"a": {"x": 1.5}, "b": None}, {"é": {"x": -0.0}}]

    def wrong_objects(self) -> Sequence[object]:
        return [{1: None}, {"a": {}}, {"a": {"x": "1"}}, {"a": {"x": 1.0, "y": 2.0}}, []]

    def in_column(self, value: Any) -> object:
        return list(value.items())


class TestConstrained(SerdeContract[Limited]):
    def serde(self) -> Serde[Limited]:
        return avro_serde(Limited)

    def values(self) -> Sequence[Limited]:
        return [Limited(0), Limited(2**62)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x01"]


class TestNumbers(SerdeContract[int]):
    examples = 15

    def serde(self) -> Serde[int]:
        return avro_serde(int)

    def values(self) -> Sequence[int]:
        return [0, -1, 2**63 - 1, -(2**63), *range(60, 80)]

    def strategy(self) -> st.SearchStrategy[int]:
        return LONGS

    def wrong_objects(self) -> Sequence[object]:
        return [1.5, True, "1", 2**63]
