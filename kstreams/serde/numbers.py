"""Serdes of fixed width: integers, double and bool, encoded as Kafka's own serializers do.

Kafka writes big-endian two's complement, whose bytes put negative numbers last. Stores use the
ordered variant (`INT64.ordered`): the same width with an inverted sign bit, so that bytes sort as
the numbers do.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde, T
from kstreams.serde.objects import objects_of

__all__ = ("BOOL", "DOUBLE", "INT32", "INT64", "BoolSerde", "FixedWidthSerde")


class FixedWidthSerde(Serde[T]):
    """The serde of numbers of fixed width.

    Args:
        name: Stable name.
        type_token: The Python type.
        code: The `struct` code, big-endian; also names the numpy type.
        arrow_type: Type of the column that `process_batch` sees.
        ordered: Whether bytes sort as the numbers do.
    """

    __slots__ = ("_dtype", "_ordered", "_sign", "_struct", "arrow_type", "name", "type_token")
    immutable = True

    def __init__(
        self, name: str, type_token: type, code: str, arrow_type: pa.DataType, *, ordered: bool
    ) -> None:
        self.name = name
        self.type_token = type_token
        self.arrow_type = arrow_type
        self._struct = struct.Struct(f">{code}")
        self._dtype = np.dtype(f">{'f8' if code == 'd' else 'i' + str(self._struct.size)}")
        self._ordered = ordered
        self._sign = 1 << (self._struct.size * 8 - 1)

    @property
    def hashes_by_bytes(self) -> bool:  # type: ignore[override]  # constant per instance
        """Whether equal numbers have equal bytes: not for doubles (0.0 equals -0.0; NaN)."""
        return self.type_token is int

    @property
    def ordered(self) -> Serde[T]:
        """The variant of this serde whose bytes sort as the numbers do."""
        return _ORDERED[self.name] if not self._ordered else self

    def serialize(self, value: T) -> bytes:
        """Encode a number; a wrong type or a number out of range is a `SerializationError`."""
        try:
            data = self._struct.pack(value)
        except (struct.error, OverflowError) as exc:
            raise SerializationError(
                f"expected {self.name}, got {type(value).__name__}: {value!r} ({exc})"
            ) from exc
        return self._turn(data) if self._ordered else data

    def deserialize(self, data: bytes) -> T:
        """Decode a number; bytes of another length are a `DeserializationError`."""
        try:
            (value,) = self._struct.unpack(self._turn_back(data) if self._ordered else data)
        except struct.error as exc:
            raise DeserializationError(
                f"expected {self._struct.size} bytes of {self.name}, got {len(data)}: {data[:40]!r}"
            ) from exc
        return value  # type: ignore[no-any-return]  # struct.unpack is untyped

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        try:
            column = pa.array(values)  # of the type found: given int64, Arrow takes 1.0 too
            if not self._takes(column.type):
                return super().serialize_many(values)
            column = column.cast(self.arrow_type)
        except (pa.ArrowException, TypeError, OverflowError):
            return super().serialize_many(values)
        return self.from_arrow(column)

    def _takes(self, kind: pa.DataType) -> bool:
        is_float = self._dtype.kind == "f" and pa.types.is_floating(kind)
        return is_float or bool(pa.types.is_integer(kind))

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        values: list[T | None] = objects_of(self.to_arrow(data))
        return values

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Decode all elements in one step; an element of another length is an error.

        Raises:
            DeserializationError: An element does not have the width of a number.
        """
        width = self._struct.size
        if len(data) == 0:
            return pa.array([], self.arrow_type)
        if data.null_count:
            valid = data.is_valid()
            dense = self.to_arrow(data.drop_null())
            values = np.zeros(len(data), dense.type.to_pandas_dtype())
            values[valid.to_numpy(zero_copy_only=False)] = dense.to_numpy(zero_copy_only=False)
            return pa.array(values, self.arrow_type, mask=~valid.to_numpy(zero_copy_only=False))
        offsets = np.frombuffer(data.buffers()[1], np.int32)[data.offset :][: len(data) + 1]
        if np.any(np.diff(offsets) != width):
            for item in data.to_pylist():
                self.deserialize(item)
        raw = np.frombuffer(data.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        return pa.array(self._numbers(raw), self.arrow_type)

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Encode all numbers in one step; a column of another type is a `SerializationError`."""
        column = self._cast(column, self._takes)
        width = self._struct.size
        numbers = column.fill_null(0).to_numpy(zero_copy_only=False).astype(self._dtype)
        data = self._bytes(numbers)
        offsets = np.arange(0, (len(column) + 1) * width, width, dtype=np.int32)
        mask = column.is_valid().buffers()[1] if column.null_count else None
        buffers = [mask, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.binary(), len(column), buffers, column.null_count)

    def _numbers(self, raw: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the numbers of encoded bytes; `raw` is a flat uint8 array."""
        numbers = raw.view(self._dtype)
        if not self._ordered:
            return numbers.astype(self._dtype.newbyteorder("="))
        bits = numbers.view(f">u{self._struct.size}").astype(f"u{self._struct.size}")
        return self._unordered_bits(bits).view(self._dtype.newbyteorder("="))

    def _bytes(self, numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the encoded bytes of big-endian numbers."""
        if not self._ordered:
            return numbers.view(np.uint8)
        bits = numbers.view(f">u{self._struct.size}").astype(f"u{self._struct.size}")
        return self._ordered_bits(bits).astype(f">u{self._struct.size}").view(np.uint8)

    def _ordered_bits(self, bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        sign = bits.dtype.type(self._sign)
        turned: np.ndarray[Any, Any] = bits ^ sign
        if self._dtype.kind == "f":
            return np.where(bits & sign != 0, ~bits, turned)
        return turned

    def _unordered_bits(self, bits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        sign = bits.dtype.type(self._sign)
        turned: np.ndarray[Any, Any] = bits ^ sign
        if self._dtype.kind == "f":
            return np.where(bits & sign != 0, turned, ~bits)
        return turned

    def _turn(self, data: bytes) -> bytes:
        if self._dtype.kind == "f" and data[0] & 0x80:
            return bytes(255 - byte for byte in data)
        return bytes((data[0] ^ 0x80,)) + data[1:]

    def _turn_back(self, data: bytes) -> bytes:
        if self._dtype.kind == "f" and data and not data[0] & 0x80:
            return bytes(255 - byte for byte in data)
        return bytes((data[0] ^ 0x80,)) + data[1:] if data else data

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a reference to the constant."""
        return _by_name, (self.name, self._ordered)


class BoolSerde(Serde[bool]):
    """The serde of bools: one byte, 0 or 1, like Kafka's `BooleanSerializer`."""

    __slots__ = ()
    name = "bool"
    type_token = bool
    immutable = True
    hashes_by_bytes = True
    arrow_type = pa.bool_()

    def serialize(self, value: bool) -> bytes:
        """Return one byte; anything but a bool is a `SerializationError`."""
        if value is True:
            return b"\x01"
        if value is False:
            return b"\x00"
        raise SerializationError(f"expected bool, got {type(value).__name__}: {value!r}")

    def deserialize(self, data: bytes) -> bool:
        """Read one byte; another length or value is a `DeserializationError`."""
        if data == b"\x01":
            return True
        if data == b"\x00":
            return False
        raise DeserializationError(f"expected bool as one byte, 0 or 1, got {data[:40]!r}")

    def __reduce__(self) -> str:
        """Pickle as the constant `BOOL`."""
        return "BOOL"


INT32 = FixedWidthSerde[int]("int32", int, "i", pa.int32(), ordered=False)
"""Signed 32-bit integer, big-endian."""

INT64 = FixedWidthSerde[int]("int64", int, "q", pa.int64(), ordered=False)
"""Signed 64-bit integer, big-endian."""

DOUBLE = FixedWidthSerde[float]("double", float, "d", pa.float64(), ordered=False)
"""IEEE 754 double, big-endian."""

BOOL = BoolSerde()
"""One byte, 0 or 1."""

_ORDERED: dict[str, Serde[Any]] = {
    "int32": FixedWidthSerde[int]("int32", int, "i", pa.int32(), ordered=True),
    "int64": FixedWidthSerde[int]("int64", int, "q", pa.int64(), ordered=True),
    "double": FixedWidthSerde[float]("double", float, "d", pa.float64(), ordered=True),
}
_PLAIN: dict[str, Serde[Any]] = {"int32": INT32, "int64": INT64, "double": DOUBLE}


def _by_name(name: str, ordered: bool) -> Serde[Any]:
    return (_ORDERED if ordered else _PLAIN)[name]
