"""The JSON serde writes and reads typed values, and refuses others with the path."""

from __future__ import annotations

import contextlib
import decimal
import math
import pickle
import subprocess
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import Any, Literal, TypedDict
from uuid import UUID

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark import cloudpickle

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.plugins import load_plugin
from kstreams_json import json_serde


@dataclass
class Item:
    name: str
    price: float = 0.0


@dataclass
class Order:
    id: int
    items: list[Item] = field(default_factory=list)
    note: str | None = None


class Point(msgspec.Struct, frozen=True):
    x: int
    label: str | None = None


class Line(msgspec.Struct, frozen=True):
    points: tuple[Point, ...]
    kind: Literal["a", "b"] = "a"


class Weighted(msgspec.Struct, frozen=True):
    weight: float


class Mutable(msgspec.Struct):
    x: int


class Holder(msgspec.Struct, frozen=True):
    inner: Mutable


class Bag(msgspec.Struct, frozen=True):
    items: list[int]


class Tree(msgspec.Struct, frozen=True):
    children: tuple[Tree, ...] = ()


class Cat(msgspec.Struct, frozen=True, tag=True):
    lives: int


class Dog(msgspec.Struct, frozen=True, tag=True):
    name: str


class Row(TypedDict):
    key: str
    count: int


class Plain:
    def __init__(self, x: int) -> None:
        self.x = x


class SubItem(Item):
    pass


def label(value: object) -> str:
    """Return the name of a case, without addresses, which differ between processes."""
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text[:24]


items = st.builds(Item, st.text(), st.floats(allow_nan=False, allow_infinity=False))
orders = st.builds(Order, st.integers(-(2**63), 2**63 - 1), st.lists(items), st.none() | st.text())
json_values = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)

CASES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "Order": (Order, orders),
    "Point": (Point, st.builds(Point, st.integers(-(2**60), 2**60), st.none() | st.text())),
    "list[Item]": (list[Item], st.lists(items)),
    "dict[str, int]": (dict[str, int], st.dictionaries(st.text(), st.integers(0, 99))),
    "Cat | Dog": (Cat | Dog, st.builds(Cat, st.integers(0, 9)) | st.builds(Dog, st.text())),
    "Row": (Row, st.fixed_dictionaries({"key": st.text(), "count": st.integers(0, 9)})),
    "tuple[int, ...]": (tuple[int, ...], st.lists(st.integers(0, 9)).map(tuple)),
    "Any": (Any, json_values),
    "str": (str, st.text()),
    "int": (int, st.integers(-(2**63), 2**64 - 1)),
    "bool": (bool, st.booleans()),
    "float": (float, st.floats(allow_nan=False, allow_infinity=False)),
    "date": (date, st.dates()),
    "UUID": (UUID, st.uuids()),
}
cases = pytest.mark.parametrize("name", CASES)


@cases
@settings(max_examples=20)
@given(data=st.data())
def test_written_value_is_read_back_unchanged(name: str, data: st.DataObject) -> None:
    type_, values = CASES[name]
    serde: Serde[Any] = json_serde(type_)
    value = data.draw(values)
    assert serde.deserialize(serde.serialize(value)) == value


@cases
@settings(max_examples=20)
@given(data=st.data())
def test_json_bulk_methods_equal_single_methods(name: str, data: st.DataObject) -> None:
    type_, strategy = CASES[name]
    serde: Serde[Any] = json_serde(type_)
    values = data.draw(st.lists(st.none() | strategy, max_size=8))
    start = data.draw(st.integers(0, 8))
    column = serde.serialize_many(values)
    assert column.type == pa.binary()
    assert column.to_pylist() == [None if v is None else serde.serialize(v) for v in values]
    assert serde.deserialize_many(column.slice(start)) == values[start:]


@cases
def test_json_serde_name_contains_type(name: str) -> None:
    assert json_serde(CASES[name][0]).name == f"json[{name}]"


@cases
def test_json_serde_can_be_pickled(name: str) -> None:
    serde = json_serde(CASES[name][0])
    copy = pickle.loads(pickle.dumps(serde))
    assert copy == serde
    assert hash(copy) == hash(serde)
    data = cloudpickle.dumps(serde)  # type: ignore[no-untyped-call]
    assert pickle.loads(data) == serde


@settings(max_examples=50)
@given(st.binary())
def test_any_bytes_are_read_or_refused_with_a_typed_error(data: bytes) -> None:
    for type_ in (Any, Order, str, float):
        with contextlib.suppress(DeserializationError):
            json_serde(type_).deserialize(data)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"id": "1"}', "Expected `int`, got `str` - at `$.id`"),
        (b'{"id": 1, "items": [{"name": "a"}, {"name": 2}]}', "at `$.items[1].name`"),
        (b"{}", "missing required field `id`"),
        (b"[1]", "Expected `object`, got `array`"),
        (b"null", "Expected `object`, got `null`"),
        (b"{", "truncated"),
        (b"", "truncated"),
        (b'{"id": 1e400}', "out of range"),
        (b'{"id": 1, "note": "\xff"}', "utf-8"),
    ],
)
def test_invalid_json_is_refused_with_path_of_value(data: bytes, text: str) -> None:
    serde = json_serde(Order)
    with pytest.raises(DeserializationError, match=r"expected json\[Order\]: ") as caught:
        serde.deserialize(data)
    assert text in str(caught.value)
    assert caught.value.__cause__ is not None
    with pytest.raises(DeserializationError):
        serde.deserialize_many(pa.array([b'{"id": 1}', None, data], pa.binary()))


def test_deeply_nested_json_is_refused() -> None:
    with pytest.raises(DeserializationError, match="recursion"):
        json_serde(list).deserialize(b"[" * 100_000)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Order, {"id": 1}),
        (Order, Item("a")),
        (Item, SubItem("a")),
        (str, b"text"),
        (int, True),
        (int, 1.0),
        (bool, 1),
        (float, "1"),
        (list[int], (1, 2)),
        (dict[str, int], [1]),
        (Cat | Dog, Point(1)),
        (str, "\ud800"),
        (Any, object()),
        (list[Any], [object()]),
        (dict[Any, Any], {(1, 2): 3}),
        (float, math.nan),
        (float, math.inf),
        (Item, Item("a", math.nan)),
        (list[float], [1.0, -math.inf]),
    ],
    ids=label,
)
def test_objects_of_another_type_are_refused(type_: Any, value: object) -> None:
    serde: Serde[Any] = json_serde(type_)
    with pytest.raises(SerializationError, match=r"expected json\["):
        serde.serialize(value)
    with pytest.raises(SerializationError):
        serde.serialize_many([None, value])


def test_value_that_contains_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(SerializationError, match="recursion"):
        json_serde(list).serialize(value)


@pytest.mark.parametrize(
    ("type_", "value", "data"),
    [
        (
            Order,
            Order(1, [Item("tea", 2.5)]),
            b'{"id":1,"items":[{"name":"tea","price":2.5}],"note":null}',
        ),
        (Point, Point(1, "é"), '{"x":1,"label":"é"}'.encode()),
        (Cat | Dog, Cat(9), b'{"type":"Cat","lives":9}'),
        (dict[str, int], {"b": 1, "a": 2}, b'{"a":2,"b":1}'),
        (dict[str, int], OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
        (float, 1, b"1"),
        (float, -0.0, b"-0.0"),
        (float | None, math.nan, b"null"),
        (datetime, datetime(2024, 1, 2, tzinfo=timezone.utc), b'"2024-01-02T00:00:00Z"'),
        (decimal.Decimal, decimal.Decimal("1.10"), b'"1.10"'),
        (bytes, b"x", b'"eA=="'),
    ],
    ids=label,
)
def test_json_value_has_recorded_bytes(type_: Any, value: object, data: bytes) -> None:
    serde: Serde[Any] = json_serde(type_)
    assert serde.serialize(value) == data


def test_unknown_fields_are_skipped_unless_forbidden() -> None:
    class Closed(msgspec.Struct, forbid_unknown_fields=True):
        id: int

    data = b'{"id": 1, "more": 2}'
    assert json_serde(Order).deserialize(data) == Order(1)
    with pytest.raises(DeserializationError, match="unknown field `more`"):
        json_serde(Closed).deserialize(data)


def test_json_types_are_not_converted_by_default() -> None:
    with pytest.raises(DeserializationError):
        json_serde(int).deserialize(b'"1"')
    assert json_serde(int, strict=False).deserialize(b'"1"') == 1


@pytest.mark.parametrize(
    ("type_", "immutable", "by_bytes"),
    [
        (str, True, True),
        (int, True, True),
        (bool, True, True),
        (float, True, False),
        (decimal.Decimal, True, False),
        (datetime, True, False),
        (UUID, True, True),
        (Point, True, True),
        (Line, True, False),
        (Weighted, True, False),
        (Tree, True, True),
        (tuple[Point, int], True, True),
        (Cat | Dog, True, False),
        (int | str, True, False),
        (frozenset[int], True, False),
        (Mutable, False, False),
        (Holder, False, False),
        (Bag, False, False),
        (Order, False, False),
        (Row, False, False),
        (list[int], False, False),
        (tuple[list[int], int], False, False),
        (dict[str, int], False, False),
        (Any, False, False),
    ],
    ids=str,
)
def test_serde_reports_immutability_and_hashing_of_its_type(
    type_: Any, immutable: bool, by_bytes: bool
) -> None:
    serde = json_serde(type_)
    assert (serde.immutable, serde.hashes_by_bytes) == (immutable, by_bytes)


def test_type_token_of_json_serde_is_its_type() -> None:
    assert json_serde(Order).type_token is Order
    assert json_serde(list[Item]).type_token == list[Item]
    assert json_serde(Any).type_token is object


def test_json_serde_of_object_accepts_any_value() -> None:
    assert json_serde(object).deserialize(b'{"a": [1, null]}') == {"a": [1, None]}
    assert json_serde(object).name == "json[Any]"


def test_json_serdes_are_compared_by_type_and_options() -> None:
    orders: Serde[Any] = json_serde(Order)
    assert orders == json_serde(Order)
    assert orders != json_serde(Item)
    assert orders != json_serde(Order, strict=False)
    assert orders.__eq__("json[Order]") is False


def test_json_serde_name_can_be_given() -> None:
    serde = json_serde(Order, name="orders-v1")
    assert serde.name == "orders-v1"
    assert pickle.loads(pickle.dumps(serde)).name == "orders-v1"


@pytest.mark.parametrize("type_", [Plain, list[Plain], complex, list[object]])
def test_json_serde_of_type_without_json_encoding_is_refused_at_the_call(type_: Any) -> None:
    with pytest.raises(TypeError, match="cannot be decoded from JSON"):
        json_serde(type_)


def test_json_serde_of_argument_that_is_not_a_type_is_refused_at_the_call() -> None:
    with pytest.raises(TypeError):
        json_serde(3)  # type: ignore[call-overload]  # wrong on purpose


def encode_plain(value: Any) -> Any:
    return {"x": value.x}


def decode_plain(type_: type, value: Any) -> Any:
    return type_(value["x"])


def test_encoding_and_decoding_hooks_support_other_types() -> None:
    serde = json_serde(Plain, enc_hook=encode_plain, dec_hook=decode_plain)
    copy = pickle.loads(pickle.dumps(serde))
    assert copy == serde
    assert copy.serialize(Plain(3)) == b'{"x":3}'
    assert copy.deserialize(b'{"x":3}').x == 3
    assert not serde.immutable


def test_json_serde_is_found_by_its_plugin_name() -> None:
    assert load_plugin("kstreams.serdes", "json") is json_serde


def test_missing_msgspec_error_names_the_extra() -> None:
    code = "import sys; sys.modules['msgspec'] = None; import kstreams_json"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: JSON needs msgspec: pip install 'kstreams-spark[json]'" in done.stderr
