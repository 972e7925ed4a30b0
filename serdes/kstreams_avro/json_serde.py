"""Avro's JSON encoding: the text form of a datum, with the branch of each union named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import pyarrow as pa
from typing_extensions import override

from kstreams import Serde
from kstreams.errors import DeserializationError
from kstreams.serde import Schema, objects_of
from kstreams_avro.datum import Malformed
from kstreams_avro.json_content import content_reader
from kstreams_avro.json_datum import TAGGED
from kstreams_avro.nodes import Node
from kstreams_avro.parsing import parse_schema

__all__ = ("AvroJsonSerde",)

T = TypeVar("T")
"""The type that Avro is decoded to."""

_SHOWN_BYTES = 40


class AvroJsonSerde(Serde[T]):
    """Writes and reads values of an Avro schema as JSON text.

    Types, checks, schema evolution and columns come from a binary serde: JSON is converted to a
    binary datum, and back. As in Avro's Java library, numbers without a JSON form are the texts
    `NaN`, `Infinity` and `-Infinity`, bytes are characters up to U+00FF, and logical types have
    the form of the type that they annotate. Missing fields get their defaults; unknown fields
    are rejected. Equality and pickling follow the binary serde.
    """

    __slots__ = ("_binary", "_content", "_writer", "arrow_type", "immutable", "name", "type_token")

    def __init__(self, binary: Serde[T], writer: Schema) -> None:
        self._binary = binary
        self._writer = writer
        self.name = binary.name.replace("avro[", "avro-json[", 1)
        self.type_token = binary.type_token
        self.immutable = binary.immutable
        self.arrow_type = binary.arrow_type
        self._content = _Contents(parse_schema(writer))

    @property
    def schema(self) -> Schema:
        """The schema of the text: the writer's schema for a serde that `reading` returned."""
        return self._writer

    def serialize(self, value: T) -> bytes:
        """Encode; the error of a `SerializationError` names the path to the wrong field."""
        return self._content.text(self._binary.serialize(value))

    def deserialize(self, data: bytes) -> T:
        """Decode; a `DeserializationError` names the wrong field."""
        return self._binary.deserialize(self._datum(data))

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        return self._texts(self._binary.serialize_many(values))

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        return self._binary.deserialize_many(self._datums(data))

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Convert to `arrow_type` by way of binary data; JSON text stays if Arrow has no type."""
        if self.arrow_type == pa.binary():
            return data
        return self._binary.to_arrow(self._datums(data))

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Convert a column of `arrow_type` to JSON text; a column of JSON text stays."""
        if pa.types.is_binary(column.type):
            return column
        return self._texts(self._binary.from_arrow(column))

    @override
    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        if pa.types.is_binary(column.type):
            column = self._datums(column)
        return self._binary.field(column, name, kind)

    def reading(self, writer: Schema) -> AvroJsonSerde[T]:
        """Return a serde that creates the same objects from JSON data of another schema.

        Raises:
            ValueError: The schemas are not compatible; the error names the field.
        """
        reading: Any = self._binary
        return AvroJsonSerde(reading.reading(writer), writer)

    def from_json(self, content: object) -> T:
        """Convert a JSON value, whose unions do not name their branch, to a value of the serde.

        Raises:
            ValueError: The content does not fit the schema; the error names the field.
        """
        binary: Any = self._binary
        value: T = binary.from_json(content)
        return value

    def _datum(self, data: bytes) -> bytes:
        try:
            return self._content.datum(data)
        except (Malformed, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
            raise DeserializationError(
                f"expected {self.name}: {exc}; got {bytes(data[:_SHOWN_BYTES])!r}"
            ) from exc

    def _datums(self, data: pa.Array) -> pa.Array:
        datum = self._datum
        return pa.array(
            [None if each is None else datum(each) for each in objects_of(data)], pa.binary()
        )

    def _texts(self, datums: pa.Array) -> pa.Array:
        text = self._content.text
        return pa.array(
            [None if each is None else text(each) for each in objects_of(datums)], pa.binary()
        )

    def __eq__(self, other: object) -> bool:
        """Compare the binary serdes."""
        return isinstance(other, AvroJsonSerde) and self._binary == other._binary

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the binary serde and the schema."""
        return AvroJsonSerde, (self._binary, self._writer)


class _Contents:
    """Converts between JSON text and binary data of one schema."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._content = content_reader(node)
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder().decode

    def text(self, datum: bytes) -> bytes:
        return self._encode(self._content(datum))

    def datum(self, text: bytes) -> bytes:
        return TAGGED.write(self._node, self._decode(text))
