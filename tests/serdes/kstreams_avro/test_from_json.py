"""Values that users enter as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, time, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any
from uuid import UUID

import pytest

from kstreams_avro import avro_serde, avro_type
from kstreams_avro.serde import AvroSerde

MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}


class Suit(Enum):
    SPADES = 1


@dataclass
class Order:
    at: datetime
    day: date
    moment: time
    id: UUID
    price: Annotated[Decimal, avro_type(MONEY)]
    raw: bytes
    suit: Suit
    tags: list[date]
    by_name: dict[str, float]
    note: date | None = None


CONTENT = {
    "at": "2024-01-02T03:04:05Z",
    "day": "2024-01-02",
    "moment": "03:04:05",
    "id": "00000000-0000-0000-0000-000000000007",
    "price": 1.25,
    "raw": "a\xff",
    "suit": "SPADES",
    "tags": ["2024-01-02"],
    "by_name": {"k": 1},
    "note": "2024-01-02",
}
ORDER = Order(
    at=datetime(2024, 1, 2, 3, 4, 5, tzinfo=timezone.utc),
    day=date(2024, 1, 2),
    moment=time(3, 4, 5),
    id=UUID(int=7),
    price=Decimal("1.25"),
    raw=b"a\xff",
    suit=Suit.SPADES,
    tags=[date(2024, 1, 2)],
    by_name={"k": 1.0},
    note=date(2024, 1, 2),
)


def test_from_json_returns_objects_of_given_type() -> None:
    serde: Any = avro_serde(Order)
    assert serde.from_json(CONTENT) == ORDER
    without = {name: item for name, item in CONTENT.items() if name != "note"}
    assert serde.from_json(without).note is None
    assert serde.from_json({**CONTENT, "note": None}).note is None


def test_from_json_of_schema_without_type_returns_dicts() -> None:
    typed = avro_serde(Order)
    serde: Any = avro_serde(schema=typed.schema.text)
    assert typed.deserialize(serde.serialize(serde.from_json(CONTENT))) == ORDER


def test_from_json_selects_the_record_of_a_union_by_its_fields() -> None:
    a = {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}]}
    b = {"type": "record", "name": "B", "fields": [{"name": "y", "type": MONEY}]}
    serde: Any = avro_serde(schema=[a, b])
    assert serde.from_json({"y": "1.5"}) == ("B", {"y": Decimal("1.5")})


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"day": "soon"}, "field 'day'"),
        ({"price": "cheap"}, "field 'price'"),
        ({"raw": "\u0100"}, "field 'raw'"),
        ({"suit": "RED"}, "field 'suit'"),
        ({"by_name": {"k": "1"}}, 'field "by_name'),
        ({"more": 1}, "no field 'more'"),
        ({"note": 1}, "field 'note'"),
    ],
    ids=str,
)
def test_from_json_refuses_values_of_another_type(part: dict[str, Any], text: str) -> None:
    serde: Any = avro_serde(Order)
    assert isinstance(serde, AvroSerde)
    with pytest.raises(ValueError, match=text):
        serde.from_json({**CONTENT, **part})
