"""The MessagePack serde passes the test suite; fields by name and by position; hostile data."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.plugins import load_plugin
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams_json import json_serde
from kstreams_msgpack import msgpack_serde


@dataclass
class Order:
    id: int
    item: str
    price: float | None = None
    tags: list[str] = field(default_factory=list)
    raw: bytes = b""


class Point(msgspec.Struct, frozen=True, array_like=True):
    x: int
    y: int
    label: str | None = None


class OlderPoint(msgspec.Struct, frozen=True, array_like=True):
    x: int
    y: int


int64s = st.integers(-(2**63), 2**64 - 1)


class TestDataclasses(SerdeContract[Order]):
    recorded_name = "msgpack[Order]"

    def serde(self) -> Serde[Order]:
        return msgpack_serde(Order)

    def values(self) -> Sequence[Order]:
        return [
            Order(1, "tea", 2.5, ["hot"], b"\xff"),
            Order(0, ""),
            Order(-(2**63), "€", math.nan),
        ]

    def strategy(self) -> st.SearchStrategy[Order]:
        prices = st.none() | st.floats()
        return st.builds(Order, int64s, st.text(), prices, st.lists(st.text()), st.binary())

    def wrong_objects(self) -> Sequence[object]:
        return [{"id": 1, "item": "tea"}, Order(2**64, ""), Order(1, "\ud800"), Point(1, 2)]

    def bad_bytes(self) -> Sequence[bytes]:
        text_for_a_number = msgspec.msgpack.encode({"id": "1", "item": ""})
        return [b"", b"\xc1", b"\x90", b"\xdf\xff\xff\xff\xff", b"\x91" * 9999, text_for_a_number]

    def written(self) -> Sequence[WrittenBytes[Order]]:
        older = msgspec.msgpack.encode({"item": "tea", "gone": [1], "id": 1})
        return [
            WrittenBytes(older, Order(1, "tea")),
            WrittenBytes(
                bytes.fromhex("85a2696401a46974656da0a57072696365c0a47461677390a3726177c400"),
                Order(1, ""),
                golden=True,
            ),
        ]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"id": pa.int64(), "item": pa.string(), "price": pa.float64(), "raw": pa.binary()}

    def test_field_of_column_equals_field_of_each_object(self) -> None:
        suite = _Small()
        SerdeContract.test_field_of_column_equals_field_of_each_object(suite)


class _Small(TestDataclasses):
    """Ids beyond int64 have no column."""

    __test__ = False

    def strategy(self) -> st.SearchStrategy[Order]:
        return super().strategy().filter(lambda order: order.id < 2**63)


class TestStructsByPlace(SerdeContract[Point]):
    recorded_name = "msgpack-by-place[Point]"

    def serde(self) -> Serde[Point]:
        return msgpack_serde(Point)

    def values(self) -> Sequence[Point]:
        return [Point(1, 2), Point(-1, 0, ""), Point(2**63 - 1, 5, "é")]

    def strategy(self) -> st.SearchStrategy[Point]:
        small = st.integers(-(2**63), 2**63 - 1)
        return st.builds(Point, small, small, st.none() | st.text())

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x80", b"\x91\x01", b"\x92\x01", b"\x92\x01\xa1a"]

    def written(self) -> Sequence[WrittenBytes[Point]]:
        longer = msgspec.msgpack.encode([1, 2, "a", "of a later version"])
        return [
            WrittenBytes(b"\x93\x01\x02\xc0", Point(1, 2), golden=True),
            WrittenBytes(b"\x92\x01\x02", Point(1, 2)),
            WrittenBytes(longer, Point(1, 2, "a")),
        ]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"x": pa.int64(), "y": pa.int64(), "label": pa.string()}


class TestAnything(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        return msgpack_serde(object)

    def values(self) -> Sequence[Any]:
        return [{"b": [1, None], "a": b"\xff"}, {3: ["z"], 1: math.inf}, [], "text", 1.5, True]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x81\x81\x01\x02\x01", b"\x01\x02", b"\xdb\xff\xff\xff\xffa"]


def test_msgpack_serde_has_the_options_of_json() -> None:
    class Plain:
        def __init__(self, x: int) -> None:
            self.x = x

    with pytest.raises(TypeError, match="cannot be decoded from MessagePack"):
        msgpack_serde(Plain)
    hooked = msgpack_serde(Plain, enc_hook=lambda v: [v.x], dec_hook=lambda kind, v: kind(v[0]))
    assert hooked.deserialize(hooked.serialize(Plain(3))).x == 3
    with pytest.raises(DeserializationError):
        hooked.deserialize(b"\x90")
    assert msgpack_serde(int, strict=False).deserialize(b"\xa11") == 1
    assert msgpack_serde(Order, name="orders-v1").name == "orders-v1"
    assert msgpack_serde(Point, name="points").name == "points"


def test_serdes_of_different_formats_are_not_equal() -> None:
    packed: Serde[Any] = msgpack_serde(Order)
    assert packed != json_serde(Order)
    assert pickle.loads(pickle.dumps(packed)) == packed


def test_equal_dictionaries_have_equal_bytes_for_any_type_of_key() -> None:
    one, other = {3: {"b": 1, "a": 2}, 1: b"x"}, {1: b"x", 3: {"a": 2, "b": 1}}
    for serde in (msgpack_serde(object), msgpack_serde(dict)):
        assert serde.serialize(one) == serde.serialize(other)
    assert (
        msgpack_serde(dict[int, bytes]).serialize({2: b"y", 1: b"x"}) == b"\x82\1\xc4\1x\2\xc4\1y"
    )
    assert json_serde(dict[int, str]).serialize({2: "y", 1: "x"}) == b'{"1":"x","2":"y"}'
    with pytest.raises(SerializationError, match="not supported between"):
        msgpack_serde(object).serialize({1: 1, "a": 1})


def test_datetime_is_written_as_msgpack_timestamp() -> None:
    moments = msgpack_serde(datetime)
    moment = datetime(2024, 1, 2, tzinfo=timezone.utc)
    assert moments.serialize(moment) == b"\xd6\xff\x65\x93\x52\x00"
    assert moments.deserialize(moments.serialize(moment)) == moment


def test_array_like_struct_takes_less_than_half_the_msgpack_bytes() -> None:
    class Named(msgspec.Struct):
        x: int
        y: int

    named = len(msgpack_serde(Named).serialize(Named(1, 2)))
    assert len(msgpack_serde(OlderPoint).serialize(OlderPoint(1, 2))) * 2 < named


def test_msgpack_serde_refuses_too_large_number() -> None:
    with pytest.raises(SerializationError, match=r"expected msgpack\[int\]"):
        msgpack_serde(int).serialize(2**64)


@given(st.lists(st.none() | st.binary(max_size=6), max_size=4))
def test_msgpack_field_is_read_or_refused_like_whole_value(items: list[bytes | None]) -> None:
    serde: Serde[Any] = msgpack_serde(dict)
    column = pa.array(items, pa.binary())

    def read(take: Any) -> object:
        try:
            return take().to_pylist()
        except (DeserializationError, KeyError, AttributeError, TypeError) as exc:
            return type(exc)

    kind = pa.int64()
    whole = read(lambda: Serde.field(serde, column, "x", kind))
    assert read(lambda: serde.field(column, "x", kind)) == whole


def test_msgpack_values_are_entered_and_printed_as_json() -> None:
    serde: Any = msgpack_serde(Order)
    shown = {"id": 1, "item": "tea", "price": None, "tags": [], "raw": "/w=="}
    assert serde.to_json(Order(1, "tea", raw=b"\xff")) == shown
    assert serde.from_json(shown) == Order(1, "tea", raw=b"\xff")
    with pytest.raises(ValueError, match="Expected `int`"):
        serde.from_json({"id": "one", "item": ""})


def test_msgpack_serde_is_found_by_its_plugin_name() -> None:
    assert load_plugin("kstreams.serdes", "msgpack") is msgpack_serde


def test_missing_msgspec_error_names_the_extra() -> None:
    code = "import sys; sys.modules['msgspec'] = None; import kstreams_msgpack"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MessagePack needs msgspec: pip install 'kstreams-spark[msgpack]'" in done.stderr
