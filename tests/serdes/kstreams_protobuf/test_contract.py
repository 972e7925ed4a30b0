"""The test suite for serdes with several kinds of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from google.protobuf.message import Message
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.serde.schema import Schema
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams_protobuf import protobuf_serde
from tests.serdes.kstreams_protobuf.legacy_pb2 import LARGE, SMALL, Legacy
from tests.serdes.kstreams_protobuf.money_pb2 import Money
from tests.serdes.kstreams_protobuf.random_messages import (
    canonical_text,
    in_columns,
    may_differ,
    messages,
)
from tests.serdes.kstreams_protobuf.shapes_pb2 import Everything, Mapped, Nothing
from tests.serdes.kstreams_protobuf.trees_pb2 import Tree

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
OLDER = Schema(
    "PROTOBUF", 'syntax = "proto3"; package shapes.v1; message Money { bytes currency = 1; }'
)


class _Messages(SerdeContract[Any]):
    kind: type[Message]
    examples = 8

    def serde(self) -> Serde[Any]:
        return protobuf_serde(self.kind)

    def strategy(self) -> st.SearchStrategy[Any]:
        return messages(self.kind)

    def wrong_objects(self) -> Sequence[object]:
        return [{}, b"", "text", Nothing()]

    def in_column(self, value: Any) -> object:
        return in_columns(value)

    def same(self, one: object, other: object) -> bool:
        if isinstance(one, dict):
            return _canonical_text(_plain(one)) == _canonical_text(other)
        return super().same(one, other)

    def _assert_alike(self, serde: Serde[Any], data: bytes, good: bytes) -> None:
        if not may_differ(self.kind, data):
            super()._assert_alike(serde, data, good)


def _canonical_text(value: object) -> str:
    return canonical_text(value).replace("{}", "[]")  # an empty map looks like an empty list


def _plain(value: Any) -> Any:
    """Return a row in the form of `in_columns`."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        return {key: _plain(each) for key, each in value}
    return list(map(_plain, value)) if isinstance(value, list) else value


class TestMoney(_Messages):
    kind = Money
    recorded_name = "protobuf[shapes.v1.Money:67193dc2b4dc9191]"

    def values(self) -> Sequence[Any]:
        return [Money(currency="EUR", units=-5), Money(), Money(currency="ä" * 300, units=1 << 62)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"\x0a\x05EU", b"\x0a\x01\xff", b"\x1f", b"\x10" + b"\xff" * 11]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"units": pa.int64()}

    def written(self) -> Sequence[WrittenBytes[Any]]:
        return [
            WrittenBytes(b"\x0a\x03EUR\x10\x09", Money(currency="EUR", units=-5), golden=True),
            WrittenBytes(b"", Money(), golden=True),
            WrittenBytes(b"\x0a\x03EUR", Money(currency="EUR"), OLDER),
            WrittenBytes(b"\x10\x09\x0a\x01x\x0a\x03EUR", Money(currency="EUR", units=-5)),
        ]


class TestEverything(_Messages):
    kind = Everything

    def strategy(self) -> st.SearchStrategy[Any]:
        # Python has a smaller range of times than columns
        return messages(Everything).map(_without_times)

    def values(self) -> Sequence[Any]:
        full = Everything(a_double=1.5, an_int32=-1, a_uint64=(1 << 64) - 1, words=["a", ""])
        full.inner.weight = 0.0
        full.inners.add(x=3)
        full.chosen_text = ""
        full.wrapped.value = 0
        full.maybe_int = 0
        return [full, Everything(), Everything(chosen_nothing=Nothing())]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"a_sint32": pa.int64(), "a_float": pa.float64(), "maybe_int": pa.int64()}


def _without_times(value: Any) -> Any:
    value.ClearField("at")
    value.ClearField("lasted")
    return value


class TestMapped(_Messages):
    kind = Mapped

    def values(self) -> Sequence[Any]:
        return [Mapped(counts={"b": 1, "a": -1}), Mapped(), Mapped(inners={0: Everything.Inner()})]


class TestLegacy(_Messages):
    kind = Legacy

    def values(self) -> Sequence[Any]:
        part = Legacy.Part(name="x")
        return [Legacy(id=1), Legacy(id=0, size=SMALL, part=part, unpacked=[1], packed=[2, 3])]

    def wrong_objects(self) -> Sequence[object]:
        return [Legacy(), Legacy(id=1, size=LARGE, part=Legacy.Part()), Money()]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"\x08\x01\x32\x00", b"\x08\x01\x3a\x01\xff"]


class TestTree(_Messages):
    kind = Tree

    def values(self) -> Sequence[Any]:
        return [Tree(value=1, children=[Tree(value=2), Tree()]), Tree()]
