"""The serde of Avro, for objects of a type or for dicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, TypeVar, overload

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams import Serde
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import FieldType, Schema, SchemaSerde, objects_of
from kstreams_avro.binding import bind
from kstreams_avro.canonical import canonical_text, layout_text
from kstreams_avro.column_writing import column_writer, written
from kstreams_avro.datum import Malformed
from kstreams_avro.defaults import default_bytes
from kstreams_avro.derive import derived_schema
from kstreams_avro.field_types import field_types
from kstreams_avro.json_serde import AvroJsonSerde
from kstreams_avro.nodes import NO_DEFAULT, Enum, Fixed, Node, Record
from kstreams_avro.parsing import SchemaSource, parse, parse_schema
from kstreams_avro.promises import has_value_bytes, is_immutable
from kstreams_avro.reading import Reading
from kstreams_avro.sizes import fields_of
from kstreams_avro.typed_in import value_from_json
from kstreams_avro.writing import writer_of

__all__ = ("AvroReader", "AvroSerde", "avro_schema", "avro_serde")

T = TypeVar("T")
"""The type that Avro is decoded to."""


@overload
def avro_serde(
    type_: type[T],
    *,
    schema: SchemaSource | None = ...,
    namespace: str = ...,
    encoding: Literal["binary"] = ...,
) -> SchemaSerde[T]: ...
@overload
def avro_serde(
    type_: UnionType,
    *,
    schema: SchemaSource | None = ...,
    namespace: str = ...,
    encoding: Literal["binary"] = ...,
) -> SchemaSerde[Any]: ...
@overload
def avro_serde(*, schema: SchemaSource, encoding: Literal["binary"] = ...) -> SchemaSerde[Any]: ...
@overload
def avro_serde(
    type_: type[T],
    *,
    schema: SchemaSource | None = ...,
    namespace: str = ...,
    encoding: Literal["json"],
) -> AvroJsonSerde[T]: ...
@overload
def avro_serde(
    type_: UnionType,
    *,
    schema: SchemaSource | None = ...,
    namespace: str = ...,
    encoding: Literal["json"],
) -> AvroJsonSerde[Any]: ...
@overload
def avro_serde(*, schema: SchemaSource, encoding: Literal["json"]) -> AvroJsonSerde[Any]: ...
def avro_serde(
    type_: object = None,
    *,
    schema: SchemaSource | None = None,
    namespace: str = "",
    encoding: Literal["binary", "json"] = "binary",
) -> SchemaSerde[Any] | AvroJsonSerde[Any]:
    r"""Return a serde of Avro's binary or JSON encoding, without a frame.

    Equal objects have equal bytes, with maps in the order of their keys, so that they may be keys
    of records. A value that its schema does not allow is a `SerializationError`: no value is
    rounded or truncated, except times, which are rounded down to the unit.

    Args:
        type_: A dataclass, `msgspec.Struct`, NamedTuple or TypedDict, or another type that Avro
            supports. Without it values are dicts; records of a union with several records are then
            pairs of full name and dict.
        schema: JSON text, its file, or its parsed content. Without it the schema is derived from
            the type: fields have their encoded names; `int` is a `long`, `float` a `double`; enums
            have the names of their members; `None` is first in unions. To change this, see
            `avro_type`.
        namespace: The namespace of records and enums of a derived schema.
        encoding: `"binary"`, or `"json"` for the specification's JSON encoding, which names the
            branch of each union: `{"note": {"string": "hot"}}`. JSON needs more space and several
            times the processor time; the format of schema registries supports only binary.

    Raises:
        TypeError: The type has no equivalent, or does not match the schema. The message has the
            field.
        ValueError: The text is not a schema, or the encoding does not exist.
        OSError: The file cannot be read.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass
        ... class Order:
        ...     item: str
        ...     count: int = 1
        >>> orders = avro_serde(Order)
        >>> orders.serialize(Order("tea", 2))
        b'\x06tea\x04'
        >>> orders.schema.text
        '{"fields":[{"name":"item","type":"string"},{"default":1,"name":"count","type":"long"}],"name":"Order","type":"record"}'
    """
    if type_ is None and schema is None:
        raise TypeError("avro_serde(...) needs a type or schema=, and neither was given")
    if encoding not in ("binary", "json"):
        raise ValueError(f"expected encoding='binary' or encoding='json', got {encoding!r}")
    try:
        source = derived_schema(type_, namespace) if schema is None else schema
        binary: AvroSerde[Any] = AvroSerde(type_, canonical_text(parse(source)))
        return binary if encoding == "binary" else AvroJsonSerde(binary, binary.schema)
    except RecursionError as exc:
        raise ValueError("the types of the schema are nested too deeply") from exc


def avro_schema(source: SchemaSource) -> Schema:
    """Return the schema of a source, for `SchemaSerde.reading`.

    Args:
        source: JSON text, its file, or its parsed content.

    Raises:
        ValueError: The schema is invalid.
        OSError: The file cannot be read.
    """
    return _schema_of(parse(source))


def _schema_of(node: Node) -> Schema:
    name = node.name if isinstance(node, (Record, Enum, Fixed)) else ""
    return Schema("AVRO", canonical_text(node), record_name=name)


class _Decoding(Serde[T]):
    """The reading part of a serde, for a type and a writer's schema."""

    __slots__ = ("_reading", "arrow_type", "hashes_by_bytes", "immutable", "name", "type_token")

    decodes_fields = True

    _reading: Reading

    def _read_by(self, type_: object, writer: Node, reader: Node, bound: Node) -> None:
        """Set the attributes that depend on the schemas; the name must be set already.

        Args:
            type_: The Python type of the values; None for dicts.
            writer: The schema of the data.
            reader: The schema of the values, without classes.
            bound: The schema of the values, with their classes.
        """
        self._reading = Reading(self.name, writer, reader, bound)
        self.arrow_type = self._reading.arrow_type
        self.type_token = object if type_ is None else type_
        self.immutable = is_immutable(bound)
        self.hashes_by_bytes = has_value_bytes(bound)

    def deserialize(self, data: bytes) -> T:
        """Decode; a `DeserializationError` names the wrong field."""
        value: T = self._reading.one(data)
        return value

    @override
    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        found = self._reading.many(data)
        return super().deserialize_many(data) if found is None else found

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Decode to `arrow_type` without objects; bytes stay bytes if values have no Arrow type."""
        if self.arrow_type == pa.binary():
            return data
        return self._reading.column(data)

    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        """Return one field of each value as a column of `kind`; skip other fields if possible."""
        found = self._part(column, self._reading.names.get(name, name))
        if found is None:
            return super().field(column, name, kind)
        try:
            if found.type == kind or (_is_number(found.type) and _is_number(kind)):
                return found.cast(kind)
            return pa.array(objects_of(found), kind)
        except pa.ArrowException as exc:
            raise DeserializationError(
                f"field {name!r} of {self.name} cannot be converted to {kind}: {exc}"
            ) from exc

    @property
    @override
    def field_types(self) -> Mapping[str, FieldType]:
        return field_types(self.type_token, self.arrow_type, self._reading.names)

    def _part(self, column: pa.Array, name: str) -> pa.Array | None:
        """Return a field as a column; None if the field has no column type."""
        if pa.types.is_binary(column.type):
            found = self._reading.field(column, name)
            if found is not None or self.arrow_type == pa.binary():
                return found
            column = self.to_arrow(column)
        if not pa.types.is_struct(column.type):
            return None
        place = column.type.get_field_index(name)
        return None if place < 0 else column.flatten()[place]


class AvroSerde(_Decoding[T], SchemaSerde[T]):
    """The result of `avro_serde`. Compares by type and schema, and pickles by them."""

    __slots__ = ("_options", "_reader", "_write", "_write_column", "schema")

    def __init__(self, type_: object, text: str) -> None:
        self._options = (type_, text)
        self._reader = parse(text)
        _check_defaults(self._reader)
        bound = self._reader if type_ is None else bind(self._reader, type_)
        self.schema = _schema_of(self._reader)
        self.name = f"avro[{self.schema.record_name or text}#{self.schema.fingerprint}]"
        try:
            self._read_by(type_, self._reader, self._reader, bound)
        except Malformed as exc:
            raise ValueError(f"{self.name}: {exc}") from None
        self._write = writer_of(bound)
        has_columns = self.arrow_type != pa.binary()
        self._write_column = column_writer(self._reader) if has_columns else None

    def serialize(self, value: T) -> bytes:
        """Encode; the error of a `SerializationError` names the path to the wrong field."""
        out = bytearray()
        self._put(value, out)
        return bytes(out)

    @override
    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        out = bytearray()
        ends = [0]
        for value in values:
            if value is not None:
                self._put(value, out)
            ends.append(len(out))
        if len(out) > _MAX_BYTES:
            return super().serialize_many(values)
        mask = None
        if None in values:
            mask = pa.array([value is not None for value in values]).buffers()[1]
        offsets = pa.py_buffer(np.array(ends, np.int32))
        return pa.Array.from_buffers(
            pa.binary(), len(values), [mask, offsets, pa.py_buffer(bytes(out))]
        )

    def _put(self, value: T, out: bytearray) -> None:
        try:
            self._write(value, out, 0)
        except (Malformed, RecursionError) as exc:
            raise SerializationError(f"expected {self.name}: {exc}") from exc

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Encode a column of `arrow_type`, without objects if possible; bytes are unchanged."""
        if self._write_column is not None and column.type == self.arrow_type:
            try:
                return written(self._write_column, column)
            except Malformed as exc:
                raise SerializationError(f"expected {self.name}: {exc}") from exc
        objects = self._reading.objects(column)
        return super().from_arrow(column) if objects is None else self.serialize_many(objects)

    def reading(self, writer: Schema) -> Serde[T]:
        """Return a serde that creates the same objects from data of another schema.

        Columns have the same type, too. Fields that the writer lacks get their defaults, renamed
        fields are found by their aliases, and numbers are widened. Returns this serde if the
        writer's data layout is the same.

        Raises:
            ValueError: The objects cannot be created from the data. The message has the field and
                the reason.
        """
        try:
            if layout_text(parse_schema(writer)) == layout_text(self._reader):
                return self
            return AvroReader(*self._options, writer)
        except RecursionError as exc:
            raise ValueError("the types of the schema are nested too deeply") from exc

    def from_json(self, content: object) -> T:
        """Convert a JSON value to a value of the serde.

        Dates and times are ISO 8601 text, decimals are text or numbers, bytes are text of the
        characters up to U+00FF, as in defaults.

        Raises:
            ValueError: The JSON does not match the type; the error names the field.
        """
        value: Any = value_from_json(self._reader, content)
        if self._options[0] is None:
            return value  # type: ignore[no-any-return]  # of whatever type
        out = bytearray()
        writer_of(self._reader)(value, out, 0)
        return self.deserialize(bytes(out))

    def rewritten(self, data: pa.Array, reader: Serde[T]) -> pa.Array:
        """Convert bytes of `reader` to bytes of this serde, by way of columns if possible."""
        if self._write_column is None:
            return super().rewritten(data, reader)
        return self.from_arrow(reader.to_arrow(data))

    def __eq__(self, other: object) -> bool:
        """Compare type and schema."""
        return isinstance(other, AvroSerde) and self._options == other._options

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by type and schema."""
        return AvroSerde, self._options


class AvroReader(_Decoding[T]):
    """The result of `SchemaSerde.reading`, which can only deserialize."""

    __slots__ = ("_options",)

    def __init__(self, type_: object, text: str, writer: Schema) -> None:
        self._options = (type_, text, writer)
        reader, written = parse(text), parse_schema(writer)
        bound = reader if type_ is None else bind(reader, type_)
        own = _schema_of(reader)
        self.name = f"avro[{own.record_name or text}#{own.fingerprint}<{writer.fingerprint}]"
        try:
            self._read_by(type_, written, reader, bound)
        except Malformed as exc:
            raise ValueError(f"{self.name}: {exc}") from None

    def serialize(self, value: T) -> bytes:
        """Raise an error, because this serde only reads."""
        raise SerializationError(
            f"{self.name} only reads data of another schema, and cannot write: "
            "write with the serde of avro_serde(...)"
        )

    def __eq__(self, other: object) -> bool:
        """Compare type and schemas."""
        return isinstance(other, AvroReader) and self._options == other._options

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by type and schemas."""
        return AvroReader, self._options


_MAX_BYTES = (1 << 31) - 1
"""The maximum number of bytes in an Arrow array of `binary`."""


def _check_defaults(node: Node) -> None:
    for field in fields_of(node):
        if field.default is not NO_DEFAULT:
            try:
                default_bytes(field.type, field.default)
            except Malformed as exc:
                raise ValueError(str(exc.within(field.name))) from None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
