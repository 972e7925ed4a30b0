"""The encoding of a buffered record's value, timestamp and headers; its key is in the row key."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.record import Headers
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.sequences import divided, joined

__all__ = ("Kept", "KeptSerde", "header_pieces", "headers_of_pieces")

Kept = tuple[Any, int, Headers]
"""The value (or None), timestamp (ms) and headers of a record."""

_TIME = struct.Struct(">q")


class KeptSerde(CompositeSerde[Kept]):
    """The serde of the value (or None), timestamp and headers of a record.

    Args:
        value: Serde of the values.
    """

    type_token = tuple

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("kept", value)
        self._value = value

    @override
    def serialize(self, value: Kept) -> bytes:
        content, timestamp, headers = value
        try:
            pieces = [_TIME.pack(timestamp), _optional(content, self._value.serialize)]
        except struct.error as exc:
            raise SerializationError(f"expected an int64 time, got {timestamp!r}") from exc
        return joined([*pieces, *header_pieces(headers)])

    @override
    def deserialize(self, data: bytes) -> Kept:
        try:
            time, content, *rest = divided(data)
            value = self._value.deserialize(content[1:]) if content else None
            return value, _TIME.unpack(time)[0], headers_of_pieces(rest)
        except (ValueError, struct.error) as exc:
            raise DeserializationError(f"a stored record is cut short: {data[:40]!r}") from exc


def header_pieces(headers: Headers) -> list[bytes]:
    """Return the encoded names and values of headers, alternating."""
    pieces: list[bytes] = []
    for name, data in headers:
        pieces += [name.encode(), _optional(data, bytes)]
    return pieces


def headers_of_pieces(pieces: Sequence[bytes]) -> Headers:
    """Return the headers that `header_pieces` has encoded.

    Raises:
        ValueError: A name has no value, or is not UTF-8.
    """
    pairs = zip(pieces[::2], pieces[1::2], strict=True)
    return tuple((name.decode(), data[1:] if data else None) for name, data in pairs)


def _optional(value: Any, write: Any) -> bytes:  # noqa: ANN401  # erased types
    return b"" if value is None else b"\x01" + write(value)
