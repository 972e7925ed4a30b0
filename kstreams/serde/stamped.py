"""The serde of a value with its timestamp."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.binary import binary_array, has_all, int64_column
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.numbers import INT64
from kstreams.serde.objects import objects_of

__all__ = ("StampedSerde",)

T = TypeVar("T")
"""Type of the values."""

_STAMP = struct.Struct(">q")


class StampedSerde(CompositeSerde["tuple[T, int]"]):
    """The serde of pairs of value and timestamp (ms).

    Writes 8 bytes of timestamp, big-endian, then the value.

    Args:
        value: Serde of the values.

    Source: `org.apache.kafka.streams.state.internals.ValueAndTimestampSerializer`.
    """

    type_token = tuple

    def __init__(self, value: Serde[T]) -> None:
        super().__init__("stamped", value)
        self._value = value

    def serialize(self, value: tuple[T, int]) -> bytes:
        """Serialize a pair; any other object, or a time beyond int64, is a `SerializationError`."""
        try:
            content, timestamp = value
            stamp = _STAMP.pack(timestamp)
        except (struct.error, TypeError, ValueError) as exc:
            raise SerializationError(f"expected a value and an int64 time, got {value!r}") from exc
        return stamp + self._value.serialize(content)

    @override
    def serialize_many(self, values: Sequence[tuple[T, int] | None]) -> pa.Array:
        try:
            stamps = int64_column([0 if value is None else value[1] for value in values])
            inner = [None if value is None else value[0] for value in values]
        except (TypeError, IndexError):
            return super().serialize_many(values)
        if stamps is None:
            return super().serialize_many(values)
        heads = binary_array(stamps.astype(">i8").view(np.uint8), len(values), 8)
        contents = self._value.serialize_many(inner)
        if not has_all(contents, values):
            return super().serialize_many(values)
        return pc.binary_join_element_wise(heads, contents, b"")

    def deserialize(self, data: bytes) -> tuple[T, int]:
        """Deserialize a pair; fewer than 8 bytes are a `DeserializationError`."""
        try:
            timestamp: int = _STAMP.unpack_from(data)[0]
        except struct.error as exc:
            raise DeserializationError(
                f"expected 8 bytes of time, got fewer: {data[:40]!r}"
            ) from exc
        return self._value.deserialize(data[8:]), timestamp

    @override
    def deserialize_many(self, data: pa.Array) -> list[tuple[T, int] | None]:
        there = data.drop_null()
        lengths = pc.min_max(pc.binary_length(there))
        if not len(there) or lengths["min"].as_py() < _STAMP.size:
            return super().deserialize_many(data)
        longest = lengths["max"].as_py()  # without an end, Arrow 22 fails where much is left out
        times: list[int] = objects_of(INT64.to_arrow(pc.binary_slice(there, 0, _STAMP.size)))
        contents: Any = self._value.deserialize_many(pc.binary_slice(there, _STAMP.size, longest))
        pairs: Iterator[tuple[T, int]] = zip(contents, times, strict=True)
        if len(there) == len(data):
            return list(pairs)
        return [next(pairs) if is_there else None for is_there in objects_of(data.is_valid())]
