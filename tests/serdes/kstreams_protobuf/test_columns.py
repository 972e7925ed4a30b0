"""Columns of messages equal the objects, for any bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from kstreams.errors import DeserializationError, SerializationError
from kstreams_protobuf import protobuf_serde
from tests.serdes.kstreams_protobuf.legacy_pb2 import Grouped, Legacy
from tests.serdes.kstreams_protobuf.random_messages import (
    canonical_text,
    in_columns,
    may_differ,
    messages,
    plain,
)
from tests.serdes.kstreams_protobuf.shapes_pb2 import Disordered, Everything, Mapped, Nothing
from tests.serdes.kstreams_protobuf.trees_pb2 import Chicken, Loose, Tree

SERDES: dict[str, Any] = {
    kind.DESCRIPTOR.name: protobuf_serde(kind) for kind in (Everything, Mapped, Disordered, Legacy)
}
WITHOUT = (Nothing, Grouped, Tree, Chicken, Loose)
names = pytest.mark.parametrize("name", SERDES)
EVERYTHING = SERDES["Everything"]


def binary(*items: bytes | None) -> pa.Array:
    return pa.array(items, pa.binary())


def field(number: int, data: bytes) -> bytes:
    """Return an encoded field with a length."""
    tag = number << 3 | 2
    head = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])
    return head + bytes([len(data)]) + data


@names
@settings(max_examples=40)
@given(data=st.data())
def test_protobuf_columns_equal_objects(name: str, data: st.DataObject) -> None:
    serde = SERDES[name]
    kind = messages(serde.type_token)
    values = data.draw(st.lists(st.none() | kind, max_size=5))
    start = data.draw(st.integers(0, 5))
    written = serde.serialize_many(values).slice(start)
    column = serde.to_arrow(written)
    assert column.type == serde.arrow_type
    assert plain(column) == [None if v is None else in_columns(v) for v in values[start:]]
    assert serde.from_arrow(column).to_pylist() == written.to_pylist()


@names
@settings(max_examples=60)
@given(data=st.data())
def test_any_bytes_are_read_or_refused_by_columns_like_by_objects(
    name: str, data: st.DataObject
) -> None:
    serde = SERDES[name]
    good = bytearray(serde.serialize(data.draw(messages(serde.type_token))))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(good)))
        cut = data.draw(st.integers(0, 3))
        good[place : place + cut] = data.draw(st.binary(max_size=4))
    column = binary(None, bytes(good))
    if may_differ(serde.type_token, bytes(good)):
        return
    try:
        expected = serde.deserialize(bytes(good))
    except DeserializationError:
        with pytest.raises(DeserializationError, match="row 1"):
            serde.to_arrow(column)
        return
    assert canonical_text(plain(serde.to_arrow(column))) == canonical_text(
        [None, in_columns(expected)]
    )


INNER = Everything.Inner
DOUBTFUL: dict[str, tuple[str, bytes]] = {
    "oneof-twice": (
        "Everything",
        Everything(chosen_number=4).SerializeToString()
        + Everything(chosen_text="x").SerializeToString(),
    ),
    "oneof-and-back": (
        "Everything",
        Everything(chosen_inner=INNER(x=1)).SerializeToString()
        + Everything(chosen_number=4).SerializeToString()
        + Everything(chosen_inner=INNER(label="y")).SerializeToString(),
    ),
    "message-twice": ("Everything", field(20, b"\x08\x01") + field(20, b"\x12\x01b")),
    "key-twice": ("Mapped", field(1, b"\x0a\x01a\x10\x01") + field(1, b"\x0a\x01a\x10\x02")),
    "key-without-value": ("Mapped", field(2, b"\x08\x01")),
    "value-without-key": ("Mapped", field(1, b"\x10\x01")),
    "unknown-enum": ("Legacy", b"\x08\x01\x18\x09"),
    "wrong-wire-type": ("Everything", b"\x70\x05" + field(3, b"zz")),
    "unknown-field": ("Everything", field(99, b"abc") + b"\x18\x01"),
    "unknown-group": ("Everything", b"\x9b\x06\x08\x01\x9c\x06\x18\x01"),
    "endless-time": ("Everything", field(41, Timestamp(seconds=1 << 62).SerializeToString())),
    "unpacked": ("Everything", b"\xa8\x01\x05\xa8\x01\x06"),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_unusual_protobuf_bytes_are_read_by_columns_like_by_objects(case: str) -> None:
    name, data = DOUBTFUL[case]
    serde = SERDES[name]
    good = Legacy(id=1).SerializeToString() if name == "Legacy" else b""
    found = plain(serde.to_arrow(binary(good, None, data)))
    assert found[2] == in_columns(serde.deserialize(data))
    assert found[0] == in_columns(serde.deserialize(good))


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "truncated": ("Everything", b"\x72\x05a", "unexpected EOF"),
    "truncated-within": ("Everything", field(20, b"\x12\x05a"), "unexpected EOF"),
    "no-text": ("Everything", field(14, b"\xff"), "invalid UTF-8"),
    "no-text-of-proto2": ("Legacy", b"\x08\x01" + field(7, b"\xff"), "invalid UTF-8 in shapes"),
    "endless-number": ("Everything", b"\x18" + b"\xff" * 11, "varint"),
    "field-0": ("Everything", b"\x00\x01", "invalid field number 0"),
    "wire-type-7": ("Everything", b"\x1f\x01", "unsupported wire type"),
    "end-of-no-group": ("Everything", b"\x1c", "end-group"),
    "missing": ("Legacy", b"", "required fields are missing: id"),
    "missing-within": ("Legacy", b"\x08\x01" + field(6, b""), "missing: part.name"),
    "deep": ("Everything", b"\x0b" * 5_000, "Error parsing"),
    "group-that-ends-as-another": ("Everything", b"\x9b\x06\x08\x01\xa4\x06", "Error parsing"),
    "long-tag": ("Everything", b"\xf8" + b"\xff" * 6 + b"\xe2\x02\x00", "Error parsing"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_protobuf_bytes_raise_error_that_names_row(case: str) -> None:
    name, data, why = REFUSED[case]
    serde = SERDES[name]
    good = Legacy(id=1).SerializeToString() if name == "Legacy" else b""
    with pytest.raises(DeserializationError, match=why):
        serde.deserialize(data)
    for read in (serde.to_arrow, serde.deserialize_many):
        with pytest.raises(DeserializationError, match=r"row 2") as caught:
            read(binary(good, None, data))
        assert why in str(caught.value)


def test_endlessly_nested_bytes_do_not_crash_the_process() -> None:
    with pytest.raises(DeserializationError, match="row 1"):
        EVERYTHING.to_arrow(binary(b"", b"\x0b" * 2_000_000 + b"\x0c" * 2_000_000))


@pytest.mark.parametrize("kind", WITHOUT, ids=lambda kind: kind.DESCRIPTOR.name)
def test_messages_without_column_type_are_columns_of_bytes(kind: Any) -> None:
    serde: Any = protobuf_serde(kind)
    assert serde.arrow_type == pa.binary()
    data = binary(kind().SerializeToString(), None)
    assert serde.to_arrow(data) == data
    assert serde.from_arrow(data) == data


def test_number_field_of_a_message_without_columns_is_read_from_the_object() -> None:
    serde = protobuf_serde(Tree)
    data = serde.serialize_many([Tree(value=3, children=[Tree()]), None])
    assert serde.field(data, "value", pa.int64()).to_pylist() == [3, None]


FIELDS = [
    ("an_int32", pa.int64()),
    ("a_sint64", pa.float64()),
    ("a_float", pa.float64()),
    ("a_bool", pa.int64()),
    ("color", pa.int64()),
    ("maybe_int", pa.int64()),
    ("chosen_number", pa.int64()),
]


@settings(max_examples=40)
@given(st.lists(st.none() | messages(Everything), max_size=5))
def test_number_fields_in_columns_equal_message_attributes(values: list[Any]) -> None:
    column = EVERYTHING.to_arrow(EVERYTHING.serialize_many(values))
    for name, kind in FIELDS:
        found = EVERYTHING.field(column, name, kind)
        assert found.type == kind
        as_python = float if kind == pa.float64() else int
        expected = [None if v is None else as_python(getattr(v, name)) for v in values]
        assert found.to_pylist() == expected


def test_proto2_defaults_in_columns_equal_message_attributes() -> None:
    serde = SERDES["Legacy"]
    column = serde.to_arrow(serde.serialize_many([Legacy(id=1), Legacy(id=2, count=0)]))
    assert serde.field(column, "count", pa.int64()).to_pylist() == [7, 0]
    assert serde.field(column, "size", pa.int32()).to_pylist() == [2, 2]
    assert serde.field(column, "rate", pa.float64()).to_pylist() == [float("-inf")] * 2


def test_field_method_refuses_field_that_is_not_a_number() -> None:
    column = EVERYTHING.to_arrow(
        binary(Everything(a_string="12", a_uint64=1 << 63).SerializeToString())
    )
    for name in ("a_string", "numbers", "inner", "some_bytes"):
        with pytest.raises(DeserializationError, match="expected a single number"):
            EVERYTHING.field(column, name, pa.int64())
    with pytest.raises(DeserializationError, match="a_uint64"):
        EVERYTHING.field(column, "a_uint64", pa.int64())
    with pytest.raises(AttributeError, match="no field 'zzz'"):
        EVERYTHING.field(column, "zzz", pa.int64())


def test_messages_are_written_from_columns_of_some_fields() -> None:
    rows = pa.array([{"an_int32": 5, "inner": {"x": 1, "label": "a", "weight": None}}, None])
    written = EVERYTHING.from_arrow(rows).to_pylist()
    assert written == [
        Everything(an_int32=5, inner=INNER(x=1, label="a")).SerializeToString(),
        None,
    ]


WRONG: dict[str, tuple[str, Any, str]] = {
    "name": ("Everything", [{"zzz": 1}], "no field 'zzz'"),
    "type": ("Everything", [{"an_int32": "x"}], "cannot build"),
    "too-large": ("Everything", [{"an_int32": 1 << 40}], "cannot build"),
    "null": ("Everything", [{"an_int32": None}, {"an_int32": 1}], "cannot build"),
    "missing": ("Legacy", [{"count": 1}], "required"),
    "unknown-enum": ("Legacy", [{"id": 1, "size": 9}], "enum"),
    "oneof": ("Disordered", [{"third": 1, "fourth": 2}], "oneof"),
}


def test_columns_are_matched_by_name_and_duplicates_are_refused() -> None:
    either = SERDES["Disordered"]
    words, numbers = pa.array(["a", "b"]), pa.array([1, 2])
    rows = pa.StructArray.from_arrays([words, numbers], ["second", "first"])
    assert either.from_arrow(rows) == either.serialize_many(
        [Disordered(first=1, second="a"), Disordered(first=2, second="b")]
    )
    with pytest.raises(SerializationError, match="two columns have the same name"):
        either.from_arrow(pa.StructArray.from_arrays([numbers, numbers], ["first", "first"]))


@pytest.mark.parametrize("case", WRONG)
def test_columns_that_form_no_valid_message_are_refused(case: str) -> None:
    name, rows, why = WRONG[case]
    with pytest.raises(SerializationError, match=why):
        SERDES[name].from_arrow(pa.array(rows))
