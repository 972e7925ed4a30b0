"""JSON passes the test suite for serdes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyarrow as pa
from hypothesis import strategies as st

from kstreams import Serde
from kstreams.testing import SerdeContract, WrittenBytes
from kstreams_json import json_serde


@dataclass
class Order:
    id: int
    item: str
    price: float | None = None
    tags: list[str] = field(default_factory=list)


class Point(msgspec.Struct, frozen=True):
    x: int
    label: str | None = None


class TestDataclasses(SerdeContract[Order]):
    recorded_name = "json[Order]"

    def serde(self) -> Serde[Order]:
        return json_serde(Order)

    def values(self) -> Sequence[Order]:
        return [Order(1, "tea", 2.5, ["hot"]), Order(0, ""), Order(-(2**63), '"\n\x1b€')]

    def strategy(self) -> st.SearchStrategy[Order]:
        prices = st.none() | st.floats(allow_nan=False, allow_infinity=False)
        return st.builds(
            Order, st.integers(-(2**63), 2**63 - 1), st.text(), prices, st.lists(st.text())
        )

    def wrong_objects(self) -> Sequence[object]:
        return [{"id": 1, "item": "tea"}, Order(1, "\ud800"), Point(1)]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"{", b'{"id": "1", "item": ""}', b'{"id": 1}', b'{"id": 1, "item": "\xff"}']

    def written(self) -> Sequence[WrittenBytes[Order]]:
        return [
            WrittenBytes(b'{"id": 1, "item": "tea"}', Order(1, "tea")),
            WrittenBytes(b'{"gone": [1], "item":"","id":2}', Order(2, "")),
            WrittenBytes(
                b'{"id":1,"item":"tea","price":null,"tags":[]}', Order(1, "tea"), golden=True
            ),
        ]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"id": pa.int64(), "item": pa.string(), "price": pa.float64()}


class TestFrozenStructs(SerdeContract[Point]):
    def serde(self) -> Serde[Point]:
        return json_serde(Point)

    def values(self) -> Sequence[Point]:
        return [Point(1), Point(1, ""), Point(-5, "é")]

    def strategy(self) -> st.SearchStrategy[Point]:
        return st.builds(Point, st.integers(-(2**60), 2**60), st.none() | st.text())

    def wrong_objects(self) -> Sequence[object]:
        return [Order(1, "tea"), {"x": 1}]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"null", b'{"x": 1e400}', b"[" * 100_000]

    def fields(self) -> Mapping[str, pa.DataType]:
        return {"x": pa.int64(), "label": pa.string()}


class TestAnyJson(SerdeContract[Any]):
    def serde(self) -> Serde[Any]:
        return json_serde(object)

    def values(self) -> Sequence[Any]:
        return [{"b": [1, None], "a": ""}, [], "text", 1.5, True]

    def bad_bytes(self) -> Sequence[bytes]:
        return [b"", b"[1", b"nul"]
