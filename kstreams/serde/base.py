"""The contract of a serde: conversion of one type to bytes and back, singly and in bulk."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import pyarrow as pa

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.objects import objects_of

__all__ = ("Serde", "is_carried_as_bytes")

_UNDECODED = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_null)
"""Checks for columns that are written as they are."""

T = TypeVar("T")
"""The type that a serde converts."""


def is_carried_as_bytes(kind: pa.DataType) -> bool:
    """Return whether columns of a serde with this Arrow type stay undecoded bytes in nodes."""
    return bool(pa.types.is_binary(kind) or pa.types.is_nested(kind))


class Serde(ABC, Generic[T]):
    """Converts objects of one type to bytes and back.

    Implement `serialize` and `deserialize`; the bulk forms then work by themselves and
    are worth overriding for speed. Serdes are immutable, compare by value and can be
    pickled: they travel to executors and their `name` is recorded with the state.
    None never reaches a serde: it is a null key or a tombstone. `NONE` is the exception
    that proves it.
    """

    __slots__ = ()

    name: str
    """Stable name of the format, such as `int64`; recorded with the state."""

    type_token: object = object
    """The Python type, for the check of edges at `build()`; `object` matches any."""

    immutable: bool = False
    """True when objects can be kept and written later: nothing can change them."""

    hashes_by_bytes: bool = False
    """True when objects are hashable, and equal exactly when their bytes are equal."""

    tail_bytes: int = 0
    """The number of bytes after a key that do not belong to it: the window. All keys that
    differ only in them belong to one partition.
    """

    arrow_type: pa.DataType = pa.binary()
    """Type of the column that `process_batch` sees; `binary` means undecoded bytes."""

    decodes_fields: bool = False
    """True when `field` reads a field of bytes for less than `to_arrow` takes for all of them."""

    @abstractmethod
    def serialize(self, value: T) -> bytes:
        """Convert an object.

        Raises:
            SerializationError: This serde cannot write the object.
        """

    @abstractmethod
    def deserialize(self, data: bytes) -> T:
        """Convert bytes.

        Raises:
            DeserializationError: This serde cannot read the bytes.
        """

    @property
    def ordered(self) -> Serde[T]:
        """The serde whose bytes sort as the objects do; stores keep keys in it."""
        return self

    @property
    def plain(self) -> Serde[T]:
        """The serde of the same objects without the frame of a topic's bytes.

        Stores, edges and changelogs use the plain serde: a frame, such as the id of a schema in a
        registry, belongs to the topic. A serde without a frame returns itself; see `FramedSerde`.
        """
        return self

    def to_plain(self, data: pa.Array) -> pa.Array:
        """Turn bytes of this serde, a `binary` array, into those of `plain`; null stays null.

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
        """Convert a `binary` array to one of `arrow_type`; null stays null.

        Raises:
            DeserializationError: As `deserialize_many`.
        """
        if self.arrow_type == pa.binary():
            return data
        return pa.array(self.deserialize_many(data), self.arrow_type)

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Convert an array to a `binary` array; null stays null.

        Nulls, and bytes if `arrow_type` is `binary` or nested, stay as they are; other columns are
        converted by way of their objects.

        Raises:
            SerializationError: As `serialize_many`.
        """
        undecoded = any(is_it(column.type) for is_it in _UNDECODED)
        if not (undecoded and is_carried_as_bytes(self.arrow_type)):
            return self.serialize_many(objects_of(column))
        return column if column.type == pa.binary() else column.cast(pa.binary())

    def _cast(self, column: pa.Array, *accepted: Callable[[pa.DataType], bool]) -> pa.Array:
        """Make `column` one of `arrow_type`, from nulls or a type that a check accepts."""
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

        Override it if one field can be decoded without the others.

        Args:
            column: The values: as `to_arrow` makes them, or undecoded if `decodes_fields` is true.
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
            raise DeserializationError(f"field {name!r} of {self.name}: {exc}") from exc

    def __repr__(self) -> str:
        """Show the format's name."""
        return f"<serde {self.name}>"
