"""Columns of a message's fields: decoded from bytes and encoded to them, without objects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import ptars
import pyarrow as pa
import pyarrow.compute as pc
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde import objects_of
from kstreams_protobuf.doubts import Doubts
from kstreams_protobuf.kinds import (
    TIMES,
    WRAPPERS,
    field_types,
    is_map,
    is_number,
    kinds_within,
    syntax_of,
)
from kstreams_protobuf.rows import Rows

__all__ = ("MessageColumns", "columns_of")

_SHORT_BYTES = 4_096
"""The maximum length of bytes that are decoded to columns although they may be nested too deeply:
each level takes a call, and a megabyte of opening tags would overflow the stack."""

_CONFIG = ptars.PtarsConfig(timestamp_unit="us", duration_unit="us")
"""Microseconds cover the years 1 to 9999, as times of messages do; nanoseconds end in 2262."""


@cache
def columns_of(message: Descriptor) -> MessageColumns | None:
    """Return the columns of a message's fields, or None if there are none.

    Recursive messages, groups, editions other than proto2 and proto3, and messages without fields
    have none.
    """
    editions = any(syntax_of(kind.file) == "editions" for kind in kinds_within(message))
    if not message.fields or editions or not _has_columns(message, ()):
        return None
    handler = ptars.HandlerPool([message.file], config=_CONFIG).get_for_message(message)
    return MessageColumns(message, handler)


class MessageColumns:
    """The result of `columns_of`.

    The parser of messages checks all bytes first. If it rejects some, or if columns could differ
    from objects, such as both members of a oneof, the bytes are read as objects, whose errors name
    the problem, and written as objects. So columns are valid exactly if objects are.

    Args:
        message: The descriptor of the message type.
        handler: Decodes and encodes columns.

    Attributes:
        type: A struct of the fields.
    """

    def __init__(self, message: Descriptor, handler: Any) -> None:  # noqa: ANN401  # untyped
        self._fields = message.fields_by_name
        self._plain = field_types(message)
        self._name = message.full_name
        self._handler = handler
        self.type: pa.StructType = pa.struct(list(handler.schema()))
        self._doubts = Doubts.of(message, self.type)
        self._rows = Rows(message)
        self._rewritten = any(map(_has_other_bytes, kinds_within(message)))

    def decode(self, data: pa.Array, parse: Callable[[bytes], Message]) -> pa.StructArray:
        """Return columns of encoded messages; null stays null.

        Args:
            data: A `binary` column.
            parse: Reads a message.

        Raises:
            DeserializationError: `parse` rejects a value; the error is that of the first one.
        """
        given = data.drop_null() if data.null_count else data
        found = self._decoded(given) if self._rows.are_messages(given) else None
        if found is None or self._doubt(found) is not None:
            found = self._decoded(_rewritten(given, parse, known=True))
        if found is None:
            raise DeserializationError(
                f"messages of {self._name} cannot be decoded to columns, although each is valid"
            )
        return _spread(found, data) if data.null_count else found

    def encode(self, column: pa.StructArray, parse: Callable[[bytes], Message]) -> pa.Array:
        """Return the encoded messages of columns, with the same bytes as objects.

        Args:
            column: Structs of `type`, or structs with fewer fields; missing fields are not set.
            parse: Reads a message.

        Raises:
            SerializationError: The structs have another type, or are not valid messages.
        """
        rows = self._cast(column.drop_null() if column.null_count else column)
        try:
            found = self._handler.record_batch_to_array(pa.RecordBatch.from_struct_array(rows))
        except BaseException as exc:
            if not _is_refusal(exc):
                raise
            raise SerializationError(f"cannot build {self._name} from the columns: {exc}") from exc
        found = _rewritten(found, parse, known=False) if self._rewritten else found
        return _spread(found, column) if column.null_count else found

    def field(self, column: pa.StructArray, name: str, kind: pa.DataType) -> pa.Array:
        """Return a number, bool or text field of each message, with the defaults of objects.

        Raises:
            AttributeError: The field does not exist.
            DeserializationError: The field is not a number, or a value does not fit into `kind`.
        """
        field = self._fields.get(name)
        if field is None:
            raise AttributeError(f"{self._name} has no field {name!r}")
        if name not in self._plain or (self._plain[name] is str) != pa.types.is_string(kind):
            raise DeserializationError(
                f"expected a single number or text in field {name!r} of {self._name}, got "
                f"{'a repeated field' if field.is_repeated else 'another type'}"
            )
        found = pc.struct_field(column, name)
        if field.has_presence:
            found = found.fill_null(pa.scalar(field.default_value, found.type))
            found = pc.if_else(column.is_valid(), found, None)
        try:
            # As Python turns an integer into a float: the nearest, with no word of it.
            return found.cast(kind, safe=not pa.types.is_floating(kind))
        except pa.ArrowInvalid as exc:
            raise DeserializationError(
                f"field {name!r} of {self._name} cannot be converted to {kind}: {exc}"
            ) from exc

    def why_not(self, data: bytes) -> str:
        """Return why bytes cannot be decoded; empty if the reason is unknown."""
        if len(data) > _SHORT_BYTES:
            return ""
        try:
            self._handler.array_to_record_batch(pa.array([data], pa.binary()))
        except BaseException as exc:
            if not _is_refusal(exc):
                raise
            return str(exc).rpartition(": ")[2]
        return ""

    def _decoded(self, data: pa.Array) -> pa.StructArray | None:
        """Return the columns of messages; None if the decoder rejects the bytes."""
        try:
            found = self._handler.array_to_record_batch(data)
        except BaseException as exc:
            if not _is_refusal(exc):
                raise
            return None
        return pa.StructArray.from_arrays(found.columns, fields=list(self.type))

    def _doubt(self, column: pa.StructArray) -> str | None:
        return None if self._doubts is None else self._doubts.found(column)

    def _cast(self, column: pa.StructArray) -> pa.StructArray:
        """Cast columns to the types of the fields.

        The encoder would treat columns of other types as fields that are not set.
        """
        given = {field.name for field in column.type}
        unknown = sorted(given.difference(field.name for field in self.type))
        if unknown:
            raise SerializationError(
                f"cannot build {self._name} from the columns: "
                f"the message has no field {unknown[0]!r}"
            )
        if len(given) < column.type.num_fields:
            raise SerializationError(
                f"cannot build {self._name} from the columns: two columns have the same name"
            )
        own = pa.struct([field for field in self.type if field.name in given])
        try:
            rows = column if column.type == own else column.cast(own)
        except pa.ArrowException as exc:
            raise SerializationError(f"cannot build {self._name} from the columns: {exc}") from exc
        doubt = self._doubt(rows)
        if doubt is not None:
            raise SerializationError(f"cannot build {self._name} from the columns: {doubt}")
        return rows


def _rewritten(data: pa.Array, parse: Callable[[bytes], Message], *, known: bool) -> pa.Array:
    """Parse and encode messages again; `known` removes fields that the schema does not have."""
    found = []
    for item in objects_of(data):
        message = parse(item)
        if known:
            message.DiscardUnknownFields()  # type: ignore[attr-defined]  # the stubs lack it
        found.append(message.SerializePartialToString(deterministic=True))
    return pa.array(found, pa.binary())


def _spread(found: pa.Array, data: pa.Array) -> pa.Array:
    """Return values, with nulls inserted at the rows where `data` is null."""
    valid = data.is_valid()
    places = pc.subtract(pc.cumulative_sum(valid.cast(pa.int64())), 1)
    return found.take(pc.if_else(valid, places, None))


def _is_refusal(exc: BaseException) -> bool:
    """Return whether a decoder rejects bytes, by an error or by a panic.

    A panic is not an `Exception`.
    """
    return isinstance(exc, ValueError) or type(exc).__name__ == "PanicException"


def _has_columns(message: Descriptor, above: tuple[Descriptor, ...]) -> bool:
    """Return whether each field has a column type that can hold all values of the field.

    `above` has the enclosing message types: a recursive message has no columns.
    """
    if message in above:
        return False
    for field in message.fields:
        inner = field.message_type
        if inner is None or inner.full_name in (*TIMES, *WRAPPERS):
            continue
        if field.type == FieldDescriptor.TYPE_GROUP or inner.full_name.startswith("google.type."):
            return False
        if not _has_columns(inner, (*above, message)):
            return False
    return True


def _has_other_bytes(message: Descriptor) -> bool:
    """Return whether columns may be encoded to other bytes than objects.

    Examples are empty wrappers, maps in another order than that of their keys, and lists that are
    not packed.
    """
    if message.full_name in WRAPPERS or is_map(message):
        return True
    return any(_is_loose(field) for field in message.fields)


def _is_loose(field: FieldDescriptor) -> bool:
    return field.is_repeated and is_number(field) and not field.is_packed
