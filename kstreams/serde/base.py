"""The contract of a serde: conversion of one type to bytes and back, singly and in bulk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

import pyarrow as pa

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.objects import objects_of

__all__ = ("FieldType", "Serde", "is_carried_as_bytes")

_UNDECODED = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_null)
"""Checks for column types that are written without conversion."""

FieldType: TypeAlias = type[int] | type[float] | type[bool] | type[str]
"""The type of a field that functions of `columns` compute with."""

T = TypeVar("T")
"""The type that a serde converts."""


def is_carried_as_bytes(kind: pa.DataType) -> bool:
    """Return whether nodes keep columns of a serde with this Arrow type as undecoded bytes."""
    return bool(pa.types.is_binary(kind) or pa.types.is_nested(kind))


class Serde(ABC, Generic[T]):
    """Converts objects of one type to bytes and back.

    Implement `serialize` and `deserialize`; the methods for columns call them by default, and can
    be overridden for speed. Serdes are immutable, compare by value and can be pickled: they travel
    to executors and their `name` is recorded with the state. A serde never gets None, which is a
    null key or a tombstone. Only `NONE` serializes None.
    """

    __slots__ = ()

    name: str
    """Stable name of the format, such as `int64`; recorded with the state."""

    type_token: object = object
    """The Python type, for the check of edges at `build()`; `object` matches any."""

    immutable: bool = False
    """True if objects are immutable, so that they can be kept and serialized later."""

    hashes_by_bytes: bool = False
    """True if objects are hashable, and equal if and only if their bytes are equal."""

    tail_bytes: int = 0
    """The number of last bytes of a key that encode its window.

    Keys that differ only in these bytes belong to one partition.
    """

    arrow_type: pa.DataType = pa.binary()
    """Type of the column that `process_batch` sees; `binary` means undecoded bytes."""

    decodes_fields: bool = False
    """True if `field` decodes one field from bytes faster than `to_arrow` decodes all fields."""

    @abstractmethod
    def serialize(self, value: T) -> bytes:
        """Convert an object to bytes.

        Raises:
            SerializationError: This serde cannot write the object.
        """

    @abstractmethod
    def deserialize(self, data: bytes) -> T:
        """Convert bytes to an object.

        Raises:
            DeserializationError: This serde cannot read the bytes.
        """

    @property
    def ordered(self) -> Serde[T]:
        """The serde whose bytes sort as the objects do; stores encode keys with it."""
        return self

    @property
    def plain(self) -> Serde[T]:
        """The serde of the same objects without the frame of a topic's bytes.

        Stores, edges and changelogs use the plain serde: a frame, such as the id of a schema in a
        registry, belongs to the topic. A serde without a frame returns itself; see `FramedSerde`.
        """
        return self

    def to_plain(self, data: pa.Array) -> pa.Array:
        """Convert a `binary` array from this serde's format to that of `plain`; null stays null.

        Raises:
            DeserializationError: As `deserialize_many`.
        """
        plain = self.plain
        return data if plain is self else plain.serialize_many(self.deserialize_many(data))

    def serialize_many(self, values: Sequence[T | None]) -> pa.Array:
        """Convert many objects to a `binary` array; None becomes null.

        Raises:
            SerializationError: As `serialize`, for the first object that fails.
        """
        serialize = self.serialize
        return pa.array(
            [None if value is None else serialize(value) for value in values], pa.binary()
        )

    def deserialize_many(self, data: pa.Array) -> list[T | None]:
        """Convert a `binary` array to objects; null becomes None.

        Raises:
            DeserializationError: As `deserialize`, for the first element that fails.
        """
        deserialize = self.deserialize
        return [None if item is None else deserialize(item) for item in objects_of(data)]

    def to_arrow(self, data: pa.Array) -> pa.Array:
        """Convert a `binary` array to an array of `arrow_type`; null stays null.

        Raises:
            DeserializationError: As `deserialize_many`.
        """
        if self.arrow_type == pa.binary():
            return data
        return pa.array(self.deserialize_many(data), self.arrow_type)

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Convert an array to a `binary` array; null stays null.

        Nulls, and bytes if `arrow_type` is `binary` or nested, stay unchanged; other columns are
        converted to objects first.

        Raises:
            SerializationError: As `serialize_many`.
        """
        undecoded = any(is_it(column.type) for is_it in _UNDECODED)
        if not (undecoded and is_carried_as_bytes(self.arrow_type)):
            return self.serialize_many(objects_of(column))
        return column if column.type == pa.binary() else column.cast(pa.binary())

    def _cast(self, column: pa.Array, *accepted: Callable[[pa.DataType], bool]) -> pa.Array:
        """Cast a column to `arrow_type`, if it is null or its type passes an `accepted` check.

        Raises:
            SerializationError: The type is not accepted, or a value cannot be cast.
        """
        if column.type == self.arrow_type:
            return column
        if not (pa.types.is_null(column.type) or any(is_it(column.type) for is_it in accepted)):
            raise SerializationError(
                f"expected a column of {self.arrow_type} for {self.name}, got {column.type}"
            )
        try:
            return column.cast(self.arrow_type)
        except pa.ArrowInvalid as exc:
            raise SerializationError(
                f"a column of {column.type} does not convert to {self.name}: {exc}"
            ) from exc

    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        """Return one field of each value of a `to_arrow` column; null stays null.

        Override this method if one field can be decoded without the other fields.

        Args:
            column: The values: the result of `to_arrow`, or undecoded bytes if `decodes_fields` is
                true.
            name: An attribute of the objects, or a key of dicts.
            kind: Type of the field.

        Raises:
            DeserializationError: As `deserialize_many`, or a field is of another type.
        """
        objects = (
            self.deserialize_many(column) if self.arrow_type == pa.binary() else objects_of(column)
        )
        fields = [
            None if item is None else item[name] if isinstance(item, dict) else getattr(item, name)
            for item in objects
        ]
        try:
            return pa.array(fields, kind)
        except pa.ArrowException as exc:
            raise DeserializationError(
                f"cannot convert field {name!r} of {self.name} to {kind}: {exc}"
            ) from exc

    @property
    def field_types(self) -> Mapping[str, FieldType]:
        """The types of the fields of objects, as far as decoding guarantees them.

        Functions of `columns` compute with these fields by columns. A field is `int`, `float`,
        `bool` or `str`, and may be None; fields of other types are left out. Empty by default.
        """
        return {}

    def read_fields(
        self, column: pa.Array, kinds: Mapping[str, pa.DataType]
    ) -> dict[str, pa.Array]:
        """Return several fields of each value; see `field`.

        Args:
            column: The values, as for `field`.
            kinds: The names and types of the fields.

        Raises:
            DeserializationError: As `field`.
        """
        return {name: self.field(column, name, kind) for name, kind in kinds.items()}

    def __repr__(self) -> str:
        """Show the format's name."""
        return f"<serde {self.name}>"
