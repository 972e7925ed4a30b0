"""A record that is kept for later, without its key."""

from __future__ import annotations

import struct
from typing import Any

from kstreams.errors import DeserializationError, SerializationError
from kstreams.record import Headers
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.sequences import divided, joined

__all__ = ("Kept", "KeptSerde")

Kept = tuple[Any, int, Headers]
"""Value or None, timestamp (ms) and headers of a record."""

_TIME = struct.Struct(">q")


class KeptSerde(CompositeSerde[Kept]):
    """Value or None, timestamp and headers of a record.

    Args:
        value: Serde of the values.
    """

    type_token = tuple

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("kept", value)
        self._value = value

    def serialize(self, value: Kept) -> bytes:
        """Convert; a time that is no int64 is a `SerializationError`."""
        content, timestamp, headers = value
        try:
            pieces = [_TIME.pack(timestamp), _optional(content, self._value.serialize)]
        except struct.error as exc:
            raise SerializationError(f"expected an int64 time, got {timestamp!r}") from exc
        for name, data in headers:
            pieces += [name.encode(), _optional(data, bytes)]
        return joined(pieces)

    def deserialize(self, data: bytes) -> Kept:
        """Convert back; what is cut short is a `DeserializationError`."""
        try:
            time, content, *rest = divided(data)
            value = self._value.deserialize(content[1:]) if content else None
            names, values = rest[::2], rest[1::2]
            headers = tuple(
                (name.decode(), item[1:] if item else None)
                for name, item in zip(names, values, strict=True)
            )
            return value, _TIME.unpack(time)[0], headers
        except (ValueError, struct.error) as exc:
            raise DeserializationError(f"a kept record is cut short: {data[:40]!r}") from exc


def _optional(value: Any, write: Any) -> bytes:  # noqa: ANN401  # erased types
    return b"" if value is None else b"\x01" + write(value)
