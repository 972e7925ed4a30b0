"""A serde with struct columns that hold less of a value than its bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pyarrow as pa

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import objects_of

__all__ = ("POINTS", "Point", "PointSerde")

_PAIR = struct.Struct(">qq")


@dataclass
class Point:
    """Two numbers, and a text that columns leave out."""

    x: int
    y: int
    rest: bytes = b""


class PointSerde(Serde[Point]):
    """Serializes both numbers, then the text."""

    name = "point"
    type_token = Point
    arrow_type = pa.struct([("x", pa.int64()), ("y", pa.int64())])

    def serialize(self, value: Point) -> bytes:
        if not isinstance(value, Point):
            raise SerializationError(f"expected a point, got {value!r}")
        return _PAIR.pack(value.x, value.y) + value.rest

    def deserialize(self, data: bytes) -> Point:
        if len(data) < _PAIR.size:
            raise DeserializationError("expected a point, got less")
        x, y = _PAIR.unpack_from(data)
        return Point(x, y, data[_PAIR.size :])

    def to_arrow(self, data: pa.Array) -> pa.Array:
        points = self.deserialize_many(data)
        rows = [None if point is None else {"x": point.x, "y": point.y} for point in points]
        return pa.array(rows, self.arrow_type)

    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        assert column.type == self.arrow_type
        rows = objects_of(column)
        return pa.array([None if row is None else row[name] for row in rows], kind)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointSerde)

    def __hash__(self) -> int:
        return 1


POINTS = PointSerde()
