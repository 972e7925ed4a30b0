"""A value with the time it stands for."""

from __future__ import annotations

import struct
from typing import TypeVar

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde

__all__ = ("StampedSerde",)

T = TypeVar("T")
"""Type of the values."""

_STAMP = struct.Struct(">q")


class StampedSerde(CompositeSerde["tuple[T, int]"]):
    """A pair of value and timestamp (ms): 8 bytes of timestamp, big-endian, then the value.

    Args:
        value: Serde of the values.

    Source: `org.apache.kafka.streams.state.internals.ValueAndTimestampSerializer`.
    """

    type_token = tuple

    def __init__(self, value: Serde[T]) -> None:
        super().__init__("stamped", value)
        self._value = value

    def serialize(self, value: tuple[T, int]) -> bytes:
        """Convert; a time that is no int64 is a `SerializationError`."""
        content, timestamp = value
        try:
            return _STAMP.pack(timestamp) + self._value.serialize(content)
        except struct.error as exc:
            raise SerializationError(f"expected an int64 time, got {timestamp!r}") from exc

    def deserialize(self, data: bytes) -> tuple[T, int]:
        """Convert back; fewer than 8 bytes are a `DeserializationError`."""
        try:
            timestamp: int = _STAMP.unpack_from(data)[0]
        except struct.error as exc:
            raise DeserializationError(f"expected 8 bytes of time, got {data[:40]!r}") from exc
        return self._value.deserialize(data[8:]), timestamp
