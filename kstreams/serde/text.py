"""Serdes of bytes, which stay unchanged, and of text in UTF-8."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.objects import objects_of

__all__ = ("BYTES", "TEXT", "BytesSerde", "TextSerde")


class BytesSerde(Serde[bytes]):
    """The serde of bytes, which stay unchanged."""

    __slots__ = ()
    name = "bytes"
    type_token = bytes
    immutable = True
    hashes_by_bytes = True

    def serialize(self, value: bytes) -> bytes:
        """Return the bytes; anything but `bytes` is a `SerializationError`."""
        if type(value) is not bytes:
            raise SerializationError(f"expected bytes, got {type(value).__name__}: {value!r}")
        return value

    def deserialize(self, data: bytes) -> bytes:
        """Return the bytes."""
        return data

    def serialize_many(self, values: Sequence[bytes | None]) -> pa.Array:
        """Convert in one step; unlike Arrow, reject text with a `SerializationError`."""
        for value in values:
            if value is not None and type(value) is not bytes:
                self.serialize(value)
        return pa.array(values, pa.binary())

    @override
    def deserialize_many(self, data: pa.Array) -> list[bytes | None]:
        values: list[bytes | None] = objects_of(data)
        return values

    def __reduce__(self) -> str:
        """Pickle as the constant `BYTES`."""
        return "BYTES"


class TextSerde(Serde[str]):
    """The serde of text: UTF-8, whose bytes sort by code point, as Python's strings do."""

    __slots__ = ()
    name = "text"
    type_token = str
    immutable = True
    hashes_by_bytes = True
    arrow_type = pa.string()

    def serialize(self, value: str) -> bytes:
        """Encode text; any other object, or a lone surrogate, is a `SerializationError`."""
        try:
            return str.encode(value)
        except (TypeError, UnicodeEncodeError) as exc:
            raise SerializationError(f"expected text, got {value!r}: {exc}") from exc

    def deserialize(self, data: bytes) -> str:
        """Decode text; bytes that are not UTF-8 are a `DeserializationError`."""
        try:
            return data.decode()
        except UnicodeDecodeError as exc:
            raise DeserializationError(f"expected UTF-8 text, got {data[:40]!r}: {exc}") from exc

    @override
    def serialize_many(self, values: Sequence[str | None]) -> pa.Array:
        try:
            column = pa.array(values)  # of the type found: given a type, Arrow takes bytes too
        except (pa.ArrowException, TypeError, UnicodeEncodeError):
            return super().serialize_many(values)
        if not pa.types.is_string(column.type):
            return super().serialize_many(values)
        if isinstance(column, pa.ChunkedArray):  # more than an array can have
            return column.cast(pa.binary())
        return column.view(pa.binary())

    @override
    def deserialize_many(self, data: pa.Array) -> list[str | None]:
        values: list[str | None] = objects_of(self.to_arrow(data))
        return values

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Cast without a copy; bytes that are not UTF-8 are a `DeserializationError`."""
        try:
            return data.cast(pa.string())
        except pa.ArrowInvalid:
            for item in data.to_pylist():
                if item is not None:
                    self.deserialize(item)
            raise

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Cast without a copy; a column of another type is a `SerializationError`."""
        text = self._cast(
            column, pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary
        )
        return text.view(pa.binary())

    def __reduce__(self) -> str:
        """Pickle as the constant `TEXT`."""
        return "TEXT"


BYTES = BytesSerde()
"""Bytes as they are."""

TEXT = TextSerde()
"""The serde of text in UTF-8."""
