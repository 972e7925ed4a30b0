"""The serde of protobuf: messages of a generated class, with columns of their fields."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from typing_extensions import override

try:
    import ptars  # noqa: F401  # converts columns
    from google.protobuf import json_format
    from google.protobuf.message import DecodeError, EncodeError, Message
except ImportError as exc:
    raise ImportError(
        "protobuf needs protobuf and ptars: pip install 'kstreams-spark[protobuf]'"
    ) from exc

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import FieldType, Schema, SchemaSerde, objects_of
from kstreams_protobuf.columns import columns_of
from kstreams_protobuf.compatibility import check_readable
from kstreams_protobuf.descriptor_set import message_class, serialized_set
from kstreams_protobuf.kinds import descriptor_of, field_types
from kstreams_protobuf.proto2_checks import Proto2Checks
from kstreams_protobuf.schema import schema_of

__all__ = ("ProtobufSerde", "descriptor_serde", "protobuf_serde")

M = TypeVar("M", bound=Message)
"""The class of messages."""

_SHOWN_BYTES = 40
_MOST_SET_BYTES = 64 << 20


def protobuf_serde(message: type[M]) -> ProtobufSerde[M]:
    """Return a serde of protobuf messages, for a class that `protoc` has generated.

    Equal messages have equal bytes with the same version of protobuf. Other languages may write
    other bytes, so their keys must be repartitioned before a join with keys of this serde. Unknown
    fields are kept when a message is read and written again, but columns do not have them. A
    missing required field of proto2, and text that is not UTF-8, are errors in both directions.

    `process_batch` gets messages as Arrow structs, and `field(...)` reads fields from these, both
    without an object per record. Their times are in microseconds; a field with presence is null if
    it is not set. Recursive messages, groups, and fields of `google.type` have no columns; such
    messages are passed as bytes.

    The name of the serde contains the fingerprint of the message's file: after an upgrade that
    changes the file, a store of messages is rejected without a migration (`App(migrate=...)`).

    Args:
        message: The class, such as `orders_pb2.Order`.

    Raises:
        TypeError: The class is not a class of messages.

    Example:
        >>> from google.protobuf.wrappers_pb2 import Int64Value
        >>> numbers = protobuf_serde(Int64Value)
        >>> numbers.serialize(Int64Value(value=300)).hex()
        '08ac02'
        >>> numbers.deserialize(bytes.fromhex("08ac02")).value
        300
    """
    known: object = message  # callers without a type checker
    if not (isinstance(known, type) and issubclass(known, Message) and known is not Message):
        raise TypeError(
            f"expected a class of messages, got {known!r:.80}\n"
            "Hint: give a class that protoc has generated, such as orders_pb2.Order."
        )
    return ProtobufSerde(message)


def descriptor_serde(path: str | Path, message: str) -> ProtobufSerde[Message]:
    """Return a serde of messages without generated code.

    Args:
        path: The output of `protoc --include_imports --descriptor_set_out=PATH`.
        message: The full name of the message, such as `shop.v1.Order`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is not a set of descriptors, is incomplete, or does not have the
            message.
    """
    with Path(path).open("rb") as file:
        serialized = file.read(_MOST_SET_BYTES + 1)
    if len(serialized) > _MOST_SET_BYTES:
        raise ValueError(
            f"expected a set of descriptors of at most {_MOST_SET_BYTES:,} bytes, "
            f"but {str(path)!r} has more"
        )
    return ProtobufSerde(message_class(serialized, message))


class ProtobufSerde(SchemaSerde[M]):
    """The result of `protobuf_serde`. Compares and pickles by its message class."""

    __slots__ = (
        "_columns",
        "_message",
        "_parse",
        "_proto2_checks",
        "arrow_type",
        "name",
        "schema",
        "type_token",
    )

    def __init__(self, message: type[M]) -> None:
        descriptor = descriptor_of(message)
        self.schema: Schema = schema_of(descriptor)
        self.name = f"protobuf[{descriptor.full_name}:{self.schema.fingerprint}]"
        self.type_token = message
        self._message = message
        self._parse = message.FromString
        self._proto2_checks = Proto2Checks.of(descriptor)
        self._columns = columns_of(descriptor)
        self.arrow_type = pa.binary() if self._columns is None else self._columns.type

    def serialize(self, value: M) -> bytes:
        """Encode; a message of another class or without a required field raises an error."""
        if type(value) is not self._message:
            raise SerializationError(
                f"expected {self.name}, got {type(value).__name__}: {value!r:.{_SHOWN_BYTES}}"
            )
        try:
            return value.SerializeToString(deterministic=True)
        except (EncodeError, ValueError) as exc:
            raise SerializationError(f"expected {self.name}: {exc}") from exc

    def deserialize(self, data: bytes) -> M:
        """Decode; a `DeserializationError` has the reason."""
        try:
            value = self._parse(data)
        except DecodeError as exc:
            why = "" if self._columns is None else self._columns.why_not(bytes(data))
            raise self._refused(data, why or str(exc)) from exc
        broken = None if self._proto2_checks is None else self._proto2_checks.problem_of(value)
        if broken is not None:
            raise self._refused(data, broken)
        return value

    @override
    def serialize_many(self, values: Sequence[M | None]) -> pa.Array:
        if not {*map(type, values)} <= {self._message, type(None)}:
            return super().serialize_many(values)
        try:
            encoded = [
                None if value is None else value.SerializeToString(deterministic=True)
                for value in values
            ]
        except (EncodeError, ValueError):
            return super().serialize_many(values)
        return pa.array(encoded, pa.binary())

    @override
    def deserialize_many(self, data: pa.Array) -> list[M | None]:
        if self._proto2_checks is not None:
            return self._one_by_one(data)
        items: list[Any] = objects_of(data)
        parse = self._parse
        try:
            if data.null_count:
                return [None if item is None else parse(item) for item in items]
            return list(map(parse, items))
        except DecodeError:
            return self._one_by_one(data)

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Decode messages to columns, without an object per message."""
        if self._columns is None:
            return data
        try:
            return self._columns.decode(data, self.deserialize)
        except DeserializationError:
            self._one_by_one(data)  # names the row
            raise

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Encode columns to messages, without an object per message; bytes stay unchanged."""
        if self._columns is None or not pa.types.is_struct(column.type):
            return super().from_arrow(column)
        return self._columns.encode(column, self._parse)

    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        """Return a number or text field of each message, from columns if the message has some."""
        if self._columns is None or not pa.types.is_struct(column.type):
            return super().field(column, name, kind)
        return self._columns.field(column, name, kind)

    @property
    @override
    def field_types(self) -> Mapping[str, FieldType]:
        return field_types(descriptor_of(self._message))

    def reading(self, writer: Schema) -> ProtobufSerde[M]:
        """Return this serde, because messages are read by field number.

        Raises:
            ValueError: A field of the writer has another type under the same number, so that it
                would be skipped.
        """
        check_readable(descriptor_of(self._message), writer)
        return self

    def to_json(self, value: M) -> object:
        """Return the protobuf JSON of a message, for output to people and the command line.

        Raises:
            SerializationError: JSON cannot represent the message, for example because of an invalid
                time.
        """
        pool = descriptor_of(self._message).file.pool
        try:
            return json_format.MessageToDict(value, descriptor_pool=pool)
        except (json_format.Error, ValueError, TypeError) as exc:
            raise SerializationError(
                f"{self.name}: the message cannot be converted to JSON: {exc}"
            ) from exc

    def from_json(self, content: object) -> M:
        """Convert protobuf JSON to a message.

        Raises:
            SerializationError: The JSON does not match the message.
        """
        pool = descriptor_of(self._message).file.pool
        given: Any = content
        try:
            return json_format.ParseDict(given, self._message(), descriptor_pool=pool)
        except (json_format.Error, ValueError, TypeError, AttributeError, RecursionError) as exc:
            raise SerializationError(f"expected JSON of {self.name}: {exc}") from exc

    def _one_by_one(self, data: pa.Array) -> list[M | None]:
        """Decode values one by one; the error of a rejected value names its row."""
        values: list[M | None] = []
        for row, item in enumerate(objects_of(data)):
            try:
                values.append(None if item is None else self.deserialize(item))
            except DeserializationError as exc:
                exc.message = f"{exc.message} (row {row})"
                raise
        return values

    def _refused(self, data: bytes, why: str) -> DeserializationError:
        shown = bytes(data[:_SHOWN_BYTES])
        return DeserializationError(
            f"expected {self.name}: {why}; got {len(data)} bytes: {shown!r}"
        )

    def __eq__(self, other: object) -> bool:
        """Compare the message class."""
        return isinstance(other, ProtobufSerde) and self._message is other._message

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the message class if it can be imported, else by its descriptor."""
        module, path = self._message.__module__, self._message.__qualname__
        if _class_at(module, path) is self._message:
            return _of_module, (module, path)
        return _of_descriptors, serialized_set(descriptor_of(self._message))


def _class_at(module: str, path: str) -> object:
    return reduce(lambda place, name: getattr(place, name, None), path.split("."), _loaded(module))


def _loaded(module: str) -> Any:  # noqa: ANN401  # a module, or None
    return sys.modules.get(module)


def _of_module(module: str, path: str) -> ProtobufSerde[Any]:
    __import__(module)
    found: Any = _class_at(module, path)
    return ProtobufSerde(found)


def _of_descriptors(serialized: bytes, name: str) -> ProtobufSerde[Any]:
    return ProtobufSerde(message_class(serialized, name))
