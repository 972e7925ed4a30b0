"""Types without an Avro equivalent and invalid schemas are refused with the field."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Generic, Literal, NamedTuple, TypedDict, TypeVar

import msgspec
import pytest

from kstreams_avro import avro_serde

T = TypeVar("T")


class Point(NamedTuple):
    x: int


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (Decimal, "a Decimal needs its precision and scale: annotate the type with avro_type"),
        (timedelta, "has no equivalent in Avro"),
        (object, "has no equivalent in Avro"),
        (tuple[int, str], "has no equivalent in Avro"),
        (dict[int, str], "keys of an Avro map must be str, not int"),
        (list[complex], "complex has no equivalent in Avro"),
        (Literal["a", 1], "unless all values are str, or all are int"),
    ],
    ids=str,
)
def test_types_without_an_equivalent_are_refused(type_: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        avro_serde(type_)
    holder: Any = msgspec.defstruct("Holder", [("part", type_)])
    with pytest.raises(TypeError, match=f"field 'part': .*{text}"):
        avro_serde(holder)


def test_union_of_types_with_the_same_avro_type_is_refused() -> None:
    with pytest.raises(ValueError, match="a union of long, long"):
        avro_serde(int | datetime)


def test_two_classes_with_the_same_name_are_refused() -> None:
    other: Any = msgspec.defstruct("Point", [("z", int)])
    both: Any = msgspec.defstruct("Both", [("one", Point), ("other", other)])
    with pytest.raises(TypeError, match="field 'other': two classes are called Point"):
        avro_serde(both)


def test_typed_dict_with_optional_keys_is_refused() -> None:
    class Loose(TypedDict, total=False):
        key: str

    with pytest.raises(TypeError, match="field 'key' may be missing"):
        avro_serde(Loose)


@pytest.mark.parametrize("schema", ['{"type":"record"', '"x"', "[]", '["int","int"]', "{}", "3"])
def test_invalid_schema_is_refused(schema: str) -> None:
    with pytest.raises(ValueError, match="schema"):
        avro_serde(schema=schema)


@pytest.mark.parametrize(
    ("type_", "default"),
    [
        *[("int", value) for value in ("1", 1.5, True, 2**31, None)],
        *[("string", 1), ("bytes", "\u0100"), ("boolean", 0), ('["null","int"]', "x")],
        ('{"type":"array","items":"int"}', ["x"]),
        ('{"type":"fixed","name":"F","size":2}', "x"),
        ('{"type":"enum","name":"E","symbols":["A"]}', "B"),
        ('{"type":"record","name":"I","fields":[{"name":"x","type":"int"}]}', {}),
    ],
)
def test_default_of_another_type_is_refused(type_: str, default: object) -> None:
    inner = json.loads(type_) if type_[0] in "{[" else type_
    field = {"name": "a", "type": inner, "default": default}
    with pytest.raises(ValueError, match=r"[Dd]efault"):
        avro_serde(schema={"type": "record", "name": "R", "fields": [field]})


def test_generic_classes_are_refused() -> None:
    class Box(msgspec.Struct, Generic[T]):
        content: T

    with pytest.raises(TypeError, match="Box is generic"):
        avro_serde(Box[int])
