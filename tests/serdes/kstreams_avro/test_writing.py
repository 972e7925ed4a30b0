"""Objects that a schema does not allow are refused, and equal ones have equal bytes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pytest

from kstreams import Serde
from kstreams.errors import SerializationError
from kstreams_avro import avro_serde, avro_type

Money = Annotated[
    Decimal,
    avro_type({"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}),
]


class Suit(Enum):
    SPADES = 1
    HEARTS = 2


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Row(TypedDict):
    key: str
    count: int


class Opened(msgspec.Struct, tag=True):
    id: int


class Closed(msgspec.Struct, tag=True):
    id: int


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        (int, 1.5, "expected int of 64 bits, got float"),
        (int, True, "expected int of 64 bits, got bool"),
        (int, 2**63, "expected int of 64 bits"),
        (Annotated[int, avro_type("int")], 2**31, "expected int of 32 bits"),
        (float, "1.5", "expected float, got str"),
        (Annotated[float, avro_type("float")], 1e39, "expected float of 32 bits"),
        (float, 10**400, "expected float"),
        (bool, 1, "expected bool"),
        (str, b"x", "expected text"),
        (str, "\ud800", "expected text"),
        (bytes, bytearray(b"x"), "expected bytes"),
        (datetime, datetime(2024, 1, 1), "expected a datetime with a time zone"),
        (datetime, date(2024, 1, 1), "expected a datetime"),
        (date, datetime(2024, 1, 1), "expected a date"),
        (time, time(1, tzinfo=timezone.utc), "expected a time without a zone"),
        (UUID, str(UUID(int=1)), "expected a UUID"),
        (Money, Decimal("1.005"), "is not a decimal of 6 digits"),
        (Money, Decimal(10000), "is not a decimal of 6 digits"),
        (Money, Decimal("NaN"), "is not a decimal of 6 digits"),
        (Money, Decimal("1e999999"), "is not a decimal of 6 digits"),
        (Money, 1.5, "expected a Decimal"),
        (Suit, "HEARTS", "expected one of SPADES, HEARTS"),
        (list[int], (1,), "expected list"),
        (list[int], [1, "x"], r"field '\[1\]': expected int"),
        (dict[str, int], {1: 2}, "expected text"),
        (dict[str, int], {"k": "v"}, "field .*k.*: expected int"),
        (Tree, Tree(1, [Tree(2), Tree("3")]), r"field 'children\[1\].value': expected int"),  # type: ignore[arg-type]  # wrong on purpose
        (Point, (1, 2.5), "expected Point, got tuple"),
        (Row, {"key": "k"}, "field 'count': missing, and it has no default"),
        (Row, {"key": "k", "count": 1, "more": 2}, "record Row has no field 'more'"),
        (Opened | Closed, Tree(1), "expected one of union of"),
        (int | str | None, 1.5, "expected one of union of"),
        (int | None, "x", "expected int"),
    ],
    ids=str,
)
def test_avro_serde_refuses_to_write_objects_of_another_type(
    type_: Any, value: object, text: str
) -> None:
    serde: Serde[Any] = avro_serde(type_)
    with pytest.raises(SerializationError, match=rf"expected avro\[.*{text}"):
        serde.serialize(value)
    with pytest.raises(SerializationError, match=text):
        serde.serialize_many([None, value])


@pytest.mark.parametrize(
    ("type_", "value", "stored"),
    [
        (float, 1, 1.0),
        (float, -0.0, -0.0),
        (float, math.inf, math.inf),
        (datetime, datetime(2024, 1, 1, 2, tzinfo=timezone(timedelta(hours=1))), None),
        (Money, Decimal("1E+2"), Decimal("100.00")),
        (Money, Decimal("0E-9"), None),
        (list[int], type("L", (list,), {})([1]), [1]),
    ],
    ids=str,
)
def test_equal_objects_have_equal_avro_bytes(type_: Any, value: Any, stored: Any) -> None:
    serde: Serde[Any] = avro_serde(type_)
    found = serde.deserialize(serde.serialize(value))
    assert found == (value if stored is None else stored)
    assert serde.serialize(found) == serde.serialize(value)


def test_missing_dict_fields_are_written_with_schema_defaults() -> None:
    fields = [{"name": "a", "type": "bytes", "default": "\xff"}, {"name": "b", "type": "int"}]
    serde = avro_serde(schema={"type": "record", "name": "R", "fields": fields})
    assert serde.deserialize(serde.serialize({"b": 1})) == {"a": b"\xff", "b": 1}
