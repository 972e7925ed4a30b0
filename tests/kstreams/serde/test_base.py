"""A custom serde needs two methods; the methods for many values have defaults."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError


class Point:
    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and other.x == self.x

    def __hash__(self) -> int:
        return self.x


class PointSerde(Serde[Point]):
    """Serializes to one byte."""

    name = "point"
    type_token = Point

    def serialize(self, value: Point) -> bytes:
        if not isinstance(value, Point):
            raise SerializationError(f"expected a point, got {value!r}")
        return bytes([value.x])

    def deserialize(self, data: bytes) -> Point:
        if len(data) != 1:
            raise DeserializationError(f"expected one byte, got {data!r}")
        return Point(data[0])


def test_default_bulk_methods_call_methods_for_single_values() -> None:
    serde = PointSerde()
    column = serde.serialize_many([Point(1), None, Point(2)])
    assert column.to_pylist() == [b"\x01", None, b"\x02"]
    assert serde.deserialize_many(column.slice(1)) == [None, Point(2)]


def test_serde_without_column_type_uses_column_of_bytes() -> None:
    serde = PointSerde()
    column = pa.array([b"\x01", None])
    assert serde.arrow_type == pa.binary()
    assert serde.to_arrow(column) is column
    assert serde.from_arrow(column) is column


def test_default_serde_rejects_column_of_another_type() -> None:
    with pytest.raises(SerializationError, match="expected a point"):
        PointSerde().from_arrow(pa.array(["a"]))


def test_bulk_method_raises_error_of_first_failing_value() -> None:
    serde = PointSerde()
    with pytest.raises(DeserializationError, match="b'22'"):
        serde.deserialize_many(pa.array([b"1", b"22", b"333"]))


def test_serde_by_default_declares_mutable_values_and_orders_values_by_itself() -> None:
    serde = PointSerde()
    assert (serde.immutable, serde.hashes_by_bytes) == (False, False)
    assert serde.ordered is serde
    assert repr(serde) == "<serde point>"
    assert isinstance(pickle.loads(pickle.dumps(serde)), PointSerde)
