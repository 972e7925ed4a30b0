"""A single field of JSON: as from the whole value, or the same error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.errors import DeserializationError
from kstreams_json import json_serde


@dataclass
class Plain:
    price: float
    other: list[int]


class Renamed(msgspec.Struct, rename="camel"):
    unit_price: int | None
    other_thing: str = ""


class Typed(TypedDict):
    price: int


class Tagged(msgspec.Struct, tag=True):
    price: int


class Defaulted(msgspec.Struct):
    price: int = 7


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    price: int


def slow(serde: Serde[Any], column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
    """Return the field of the decoded values, as every serde can."""
    return Serde.field(serde, column, name, kind)


@pytest.mark.parametrize(
    ("type_", "name", "values", "kind"),
    [
        (Plain, "price", [Plain(1.5, [1]), None, Plain(2, [])], pa.float64()),
        (Renamed, "unit_price", [Renamed(1), Renamed(None, "x"), None], pa.int64()),
        (Typed, "price", [{"price": 1}, {"price": -1}], pa.int64()),
        (Tagged, "price", [Tagged(1)], pa.int32()),
        (Defaulted, "price", [Defaulted(), Defaulted(1)], pa.int64()),
        (Closed, "price", [Closed(1)], pa.int64()),
        (dict, "a price", [{"a price": 2, "x": {}}, {"a price": None}], pa.float64()),
        (object, "price", [{"price": 2.5}], pa.float64()),
        (dict, "price", [], pa.int64()),
    ],
)
def test_field_decoded_alone_equals_field_of_whole_value(
    type_: type, name: str, values: list[Any], kind: pa.DataType
) -> None:
    serde: Serde[Any] = json_serde(type_)
    column = serde.serialize_many(values)

    found = serde.field(column, name, kind)

    assert found.type == kind
    assert found.equals(slow(serde, column, name, kind))


JSON = st.recursive(
    st.none() | st.integers(-9, 9) | st.text("a\n{", max_size=2), lambda inner: st.lists(inner)
)
TEXTS = st.one_of(
    st.builds(lambda price, x: b'{"price": %d, "x": %s}' % (price, msgspec.json.encode(x)),
              st.integers(-9, 9), JSON),
    st.sampled_from(
        [
            b"", b" ", b"\n", b"{}", b"null", b"[]", b'{"price": "1"}', b'{"price": 1.5}',
            b'{"price": 1', b'"x": 2}', b'{"price": 1}\n{"price": 2}', b'{\n"price": 1\n}',
            b'{"price": 1}{"price": 2}', b'{"price": 1} {"price": 2}', b'{"price": 1}{}',
            b'{"price": 1, "x": [{}', b'{"x": 3}]}', b'{"price": 1, "x": "}', b'{"}', b'{"x": [[]',
            b'{"price": 1} x', b"\xff", b'{"price": 1, "price": 2}',
        ]
    ),
)  # fmt: skip


@given(st.lists(st.none() | TEXTS, max_size=4))
def test_field_of_any_bytes_is_read_or_refused_like_whole_value(
    items: list[bytes | None],
) -> None:
    serde: Serde[Any] = json_serde(dict)
    column = pa.array(items, pa.binary())

    assert outcome(lambda: serde.field(column, "price", pa.int64())) == outcome(
        lambda: slow(serde, column, "price", pa.int64())
    )


def outcome(read: Any) -> object:
    try:
        return read().to_pylist()
    except (DeserializationError, KeyError, AttributeError, TypeError) as exc:
        return type(exc), str(exc)


def test_decoding_one_field_does_not_check_other_fields() -> None:
    serde = json_serde(Plain)
    column = pa.array([b'{"price": 1, "other": "no list"}'], pa.binary())

    assert serde.field(column, "price", pa.float64()).to_pylist() == [1.0]


class Camel(msgspec.Struct, rename="camel"):
    """A Struct whose keys in JSON are in camel case."""

    unit_price: float
    item_count: int
    note: str | None = None


class Places(msgspec.Struct, array_like=True):
    """A Struct whose fields are written as a list."""

    first: int
    second: str
    third: float


def test_several_fields_are_read_together_in_any_order() -> None:
    kinds = {"item_count": pa.int64(), "unit_price": pa.float64()}
    serde = json_serde(Camel)
    column = serde.serialize_many([Camel(1.5, 2), None, Camel(2.5, 3)])
    found = {name: each.to_pylist() for name, each in serde.read_fields(column, kinds).items()}
    assert found == {"item_count": [2, None, 3], "unit_price": [1.5, None, 2.5]}
    by_place = json_serde(Places)
    column = by_place.serialize_many([Places(1, "a", 2.5)])
    places = {"third": pa.float64(), "first": pa.int64()}
    found = {name: each.to_pylist() for name, each in by_place.read_fields(column, places).items()}
    assert found == {"third": [2.5], "first": [1]}


def test_field_with_a_default_is_read_from_whole_values() -> None:
    serde = json_serde(Camel)
    column = serde.serialize_many([Camel(1.5, 2, "x"), Camel(1.5, 2)])
    found = serde.read_fields(column, {"note": pa.string(), "item_count": pa.int64()})
    assert [each.to_pylist() for each in found.values()] == [["x", None], [2, 2]]


@dataclass
class Mixed:
    whole: int
    number: float | None
    either: int | str
    texts: list[str]
    flag: bool


@dataclass
class Changed:
    whole: int

    def __post_init__(self) -> None:
        self.whole += 1


def test_field_types_are_those_that_decoding_guarantees() -> None:
    assert dict(json_serde(Mixed).field_types) == {"whole": int, "number": float, "flag": bool}
    assert dict(json_serde(Changed).field_types) == {}
    assert dict(json_serde(Mixed, dec_hook=lambda _, value: value).field_types) == {}
    assert dict(json_serde(dict[str, int]).field_types) == {}
