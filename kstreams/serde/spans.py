"""The serde of spans of time, each with a value."""

from __future__ import annotations

import struct
from typing import TypeVar

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.sequences import divided, joined

__all__ = ("SpansSerde",)

T = TypeVar("T")
"""Type of the values."""

_BOUNDS = struct.Struct(">qq")


class SpansSerde(CompositeSerde["tuple[tuple[int, int, T], ...]"]):
    """The serde of tuples of spans, each `(start_ms, end_ms, value)`.

    Writes, for each span, the length (u32) of its bytes, two int64, then the value.

    Args:
        value: Serde of the values.
    """

    type_token = tuple

    def __init__(self, value: Serde[T]) -> None:
        super().__init__("spans", value)
        self._value = value

    def serialize(self, value: tuple[tuple[int, int, T], ...]) -> bytes:
        """Serialize spans; a bound that is not an int64 is a `SerializationError`."""
        write = self._value.serialize
        try:
            return joined(
                _BOUNDS.pack(start, end) + write(content) for start, end, content in value
            )
        except SerializationError:
            raise
        except (struct.error, TypeError, ValueError) as exc:
            raise SerializationError(
                f"expected spans (start_ms, end_ms, value) with int64 times, got {value!r}"
            ) from exc

    def deserialize(self, data: bytes) -> tuple[tuple[int, int, T], ...]:
        """Deserialize spans; truncated bytes are a `DeserializationError`."""
        read = self._value.deserialize
        try:
            return tuple((*_BOUNDS.unpack_from(piece), read(piece[16:])) for piece in divided(data))
        except struct.error as exc:
            raise DeserializationError(
                f"expected spans of time with values, got truncated bytes: {data[:40]!r}"
            ) from exc
