"""Schemas derived from types, and types checked against schemas field by field."""

from __future__ import annotations

import enum
import json
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from datetime import date, datetime, time, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
from uuid import UUID

import msgspec
import pyarrow as pa
import pytest
from pyspark import cloudpickle

from kstreams import Serde
from kstreams.plugins import load_plugin
from kstreams_avro import avro_schema, avro_serde, avro_type

MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2}
Money = Annotated[Decimal, avro_type(MONEY)]


class Suit(enum.Enum):
    SPADES = 1
    HEARTS = 2


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Row(TypedDict):
    key: str
    count: int


class Opened(msgspec.Struct, tag=True, frozen=True):
    id: int


class Closed(msgspec.Struct, tag="c"):
    id: int
    why: str = ""


class Camel(msgspec.Struct, rename="camel", kw_only=True):
    unit_price: float = 1.0
    suit_of_it: Suit


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


@dataclass
class All:
    flag: bool
    number: int
    real: float
    text: str
    data: bytes
    at: datetime
    day: date
    moment: time
    id: UUID
    price: Money
    suit: Suit
    point: Point
    row: Row
    tags: tuple[str, ...]
    unique: frozenset[int]
    parts: set[str]
    by_name: dict[str, list[int]]
    word: Literal["a", "b"]
    small: Annotated[int, avro_type("int")]
    maybe: int | None
    note: str | None = None
    given: int | None = 5
    other: Suit = Suit.HEARTS
    empty: list[Point] = field(default_factory=list)
    nothing: dict[str, int] = field(default_factory=dict)
    since: date = date(1970, 1, 2)
    cost: Money = Decimal("1.5")
    raw: bytes = b"\xff"


EVERYTHING = All(
    flag=True,
    number=-1,
    real=0.5,
    text="é",
    data=b"\x00",
    at=datetime(2024, 1, 2, 3, 4, 5, 6, timezone.utc),
    day=date(1, 1, 1),
    moment=time(23, 59, 59, 999_999),
    id=UUID(int=7),
    price=Decimal("-9999.99"),
    suit=Suit.SPADES,
    point=Point(1, 2.5),
    row={"key": "k", "count": 2},
    tags=("a", ""),
    unique=frozenset({3, 1, 2}),
    parts={"b", "a"},
    by_name={"z": [1], "a": []},
    word="b",
    small=2**31 - 1,
    maybe=None,
)


def test_avro_schema_is_derived_from_type() -> None:
    schema = json.loads(avro_serde(All, namespace="shop").schema.text)
    fields = {each["name"]: each for each in schema["fields"]}
    types = {name: each["type"] for name, each in fields.items()}
    defaults = {name: each["default"] for name, each in fields.items() if "default" in each}

    assert (schema["name"], schema["type"]) == ("shop.All", "record")
    assert list(fields) == list(All.__dataclass_fields__)
    assert [types[name] for name in ("flag", "number", "real", "text", "data")] == [
        *("boolean", "long", "double", "string", "bytes"),
    ]
    assert types["at"] == {"type": "long", "logicalType": "timestamp-micros"}
    assert types["day"] == {"type": "int", "logicalType": "date"}
    assert types["moment"] == {"type": "long", "logicalType": "time-micros"}
    assert types["id"] == {"type": "string", "logicalType": "uuid"}
    assert types["price"] == MONEY
    assert types["suit"] == {
        "type": "enum",
        "name": "shop.Suit",
        "symbols": ["SPADES", "HEARTS"],
    }
    assert types["point"]["name"] == "shop.Point"
    assert types["by_name"] == {"type": "map", "values": {"type": "array", "items": "long"}}
    assert types["unique"] == {"type": "array", "items": "long"}
    assert (types["word"], types["small"]) == ("string", "int")
    assert types["maybe"] == ["null", "long"]
    assert types["note"] == ["null", "string"]
    assert types["given"] == ["long", "null"]
    assert types["other"] == "shop.Suit"
    assert types["empty"] == {"type": "array", "items": "shop.Point"}
    assert defaults == {
        "note": None,
        "given": 5,
        "other": "HEARTS",
        "empty": [],
        "nothing": {},
        "since": 1,
        "cost": "\x00\x96",
        "raw": "\xff",
    }


def test_all_types_are_written_and_read() -> None:
    serde = avro_serde(All)
    data = serde.serialize(EVERYTHING)
    assert serde.deserialize(data) == EVERYTHING
    column = serde.serialize_many([EVERYTHING, None] * 20)
    assert column.to_pylist() == [data, None] * 20
    assert serde.deserialize_many(column) == [EVERYTHING, None] * 20
    # a Literal allows less than its schema, which columns would not notice
    assert serde.arrow_type == pa.binary()


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        (int, -65, "8101"),
        (float, 1.5, "000000000000f83f"),
        (str | None, "a", "020261"),
        (list[int], [1, 2], "04020400"),
        (dict[str, int], {"b": 1, "a": 2}, "0402610402620200"),
        pytest.param(frozenset[str], frozenset({"b", "a"}), "040261026200", id="set"),
        (Point, Point(1, 0.0), "020000000000000000"),
        (Row, {"count": 1, "key": "k"}, "026b02"),
        (Opened | Closed, Closed(1, "x"), "02020278"),
        (Opened | Closed | None, Opened(1), "0202"),
        (Camel, Camel(suit_of_it=Suit.HEARTS), "000000000000f03f02"),
        (Tree, Tree(1, [Tree(2)]), "0202040000"),
        (Suit, Suit.HEARTS, "02"),
        (int | str | float, 1.5, "04000000000000f83f"),
        (int | str, "x", "020278"),
        (Money, Decimal(-1), "029c"),
    ],
    ids=str,
)
def test_avro_value_has_recorded_bytes(type_: Any, value: Any, data: str) -> None:
    serde: Serde[Any] = avro_serde(type_)
    assert serde.serialize(value).hex() == data
    for found in (
        serde.deserialize(bytes.fromhex(data)),
        serde.deserialize_many(pa.array([bytes.fromhex(data)] * 20, pa.binary()))[19],
    ):
        assert found == value
        assert type(found) is type(value)


SCHEMA = {
    "type": "record",
    "name": "shop.Order",
    "doc": "said to people",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "price", "type": "float"},
        {"name": "id", "type": {"type": "fixed", "name": "Id", "size": 16, "logicalType": "uuid"}},
        {"name": "suit", "type": {"type": "enum", "name": "Suit", "symbols": ["SPADES", "HEARTS"]}},
    ],
}


@dataclass
class Order:
    id: UUID
    suit: Suit
    price: float
    at: datetime


@dataclass
class RawOrder:
    at: int
    price: float
    id: bytes
    suit: str


AT = datetime(2024, 1, 2, 3, 4, 5, 678_000, timezone.utc)


def test_schema_can_be_given_with_a_type() -> None:
    serde = avro_serde(Order, schema=SCHEMA)
    order = Order(UUID(int=7), Suit.HEARTS, 1.5, AT)
    column = serde.serialize_many([order] * 20)
    assert serde.deserialize_many(column) == [order] * 20
    assert serde.schema.record_name == "shop.Order"
    raw = avro_serde(RawOrder, schema=SCHEMA).deserialize(column[0].as_py())
    assert raw == RawOrder(1704164645678, 1.5, UUID(int=7).bytes, "HEARTS")
    assert avro_serde(schema=SCHEMA).deserialize(column[0].as_py()) == {
        "id": UUID(int=7),
        "suit": "HEARTS",
        "price": 1.5,
        "at": AT,
    }


def test_schema_can_be_text_file_or_dictionary(tmp_path: Path) -> None:
    file = tmp_path / "order.avsc"
    file.write_text(json.dumps(SCHEMA, indent=2))
    serdes = [avro_serde(schema=each) for each in (SCHEMA, json.dumps(SCHEMA), file)]
    assert serdes[0] == serdes[1] == serdes[2]
    assert avro_schema(file) == serdes[0].schema
    with pytest.raises(OSError, match="missing"):
        avro_serde(schema=tmp_path / "missing")


@pytest.mark.parametrize(
    ("name", "type_", "text"),
    [
        ("price", int, "field 'price': float in the schema does not match the Python type int"),
        (
            "at",
            str,
            "field 'at': long .timestamp-millis. in the schema does not match the Python type str",
        ),
        ("suit", bool, "field 'suit': enum shop.Suit in the schema does not match"),
        ("id", list[int], "field 'id': fixed shop.Id .uuid. in the schema does not match"),
        (
            "price",
            float | None,
            "field 'price': float in the schema does not match the Python type union",
        ),
        ("more", int, "field 'more': record shop.Order has no such field"),
    ],
)
def test_type_that_does_not_match_its_schema_is_refused(name: str, type_: Any, text: str) -> None:
    fields = {"id": UUID, "suit": Suit, "price": float, "at": datetime, name: type_}
    holder: Any = msgspec.defstruct("Order", list(fields.items()))
    with pytest.raises(TypeError, match=text):
        avro_serde(holder, schema=SCHEMA)


def test_type_without_a_field_of_its_schema_is_refused() -> None:
    holder: Any = msgspec.defstruct("Holder", [("price", float)])
    with pytest.raises(TypeError, match="field 'at': Holder has no such field"):
        avro_serde(holder, schema=SCHEMA)


def test_type_constraints_are_checked_when_avro_is_read() -> None:
    class Limited(msgspec.Struct):
        count: Annotated[int, msgspec.Meta(ge=1)]
        word: Literal["a", "b"] = "a"

    serde = avro_serde(Limited)
    assert serde.deserialize(b"\x02\x02b") == Limited(1, "b")
    wrong = (
        (b"\x00\x02a", "field 'count': Expected `int` >= 1"),
        (b"\x02\x02c", "field 'word': expected one of 'a', 'b', got 'c'"),
    )
    for data, text in wrong:
        with pytest.raises(ValueError, match=text):
            serde.deserialize(data)
        with pytest.raises(ValueError, match=text):
            serde.deserialize_many(pa.array([b"\x02\x02b"] * 20 + [data], pa.binary()))


def test_value_refused_by_its_class_raises_deserialization_error() -> None:
    class Even(msgspec.Struct):
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError(f"{self.number} is odd")

    serde = avro_serde(list[Even])
    with pytest.raises(ValueError, match="3 is odd"):
        serde.deserialize(b"\x02\x06\x00")
    with pytest.raises(ValueError, match="3 is odd"):
        serde.deserialize_many(pa.array([b"\x02\x04\x00"] * 20 + [b"\x02\x06\x00"], pa.binary()))


@pytest.mark.parametrize(
    ("type_", "immutable", "by_bytes"),
    [
        (int, True, True),
        (str | None, True, True),
        (float, True, False),
        (int | str, True, False),
        (datetime, True, False),
        (UUID, True, True),
        (Opened, True, True),
        (Closed, False, False),
        (Tree, False, False),
        (tuple[int, ...], True, True),
        (frozenset[int], True, False),
        (list[int], False, False),
        (dict[str, int], False, False),
    ],
    ids=str,
)
def test_serde_reports_immutability_and_hashing_of_its_type(
    type_: Any, immutable: bool, by_bytes: bool
) -> None:
    serde: Serde[Any] = avro_serde(type_)
    assert (serde.immutable, serde.hashes_by_bytes) == (immutable, by_bytes)


def test_avro_serde_name_depends_on_schema_and_not_on_class() -> None:
    renamed: Any = msgspec.defstruct("Opened", [("id", int)])
    serde = avro_serde(Opened)
    assert serde.name == avro_serde(renamed).name == f"avro[Opened#{serde.schema.fingerprint}]"
    assert serde.name != avro_serde(Opened, namespace="shop").name
    assert serde != avro_serde(renamed)


def test_documentation_does_not_change_schema_fingerprint() -> None:
    plain = {key: value for key, value in SCHEMA.items() if key != "doc"}
    assert avro_serde(schema=SCHEMA) == avro_serde(schema=plain)


def test_avro_serde_can_be_pickled() -> None:
    serde = avro_serde(All)
    for data in (pickle.dumps(serde), cloudpickle.dumps(serde)):  # type: ignore[no-untyped-call]
        copy = pickle.loads(data)
        assert copy == serde
        assert hash(copy) == hash(serde)
        assert copy.deserialize(serde.serialize(EVERYTHING)) == EVERYTHING


def test_avro_serde_needs_a_type_or_a_schema() -> None:
    with pytest.raises(TypeError, match="a type or schema="):
        avro_serde()  # type: ignore[call-overload]  # wrong on purpose


def test_avro_serde_is_found_by_its_plugin_name() -> None:
    assert load_plugin("kstreams.serdes", "avro") is avro_serde


@pytest.mark.parametrize("name", ["fastavro", "msgspec"])
def test_missing_library_error_names_the_extra(name: str) -> None:
    code = f"import sys; sys.modules[{name!r}] = None; import kstreams_avro"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"Avro needs {name}: pip install 'kstreams-spark[avro]'" in done.stderr
