"""Columns of objects that a function creates: a column for each field, and objects on demand."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import repeat
from typing import Any

import pyarrow as pa
from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import FieldType, Serde
from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of

__all__ = ("RowSerde", "RowType", "objects_with", "without_objects")


def objects_with(cls: type, fields: Mapping[str, list[Any]], count: int) -> list[Any]:
    """Return objects of a class that a function of `columns` creates.

    Args:
        cls: The class; its constructor takes the fields by name.
        fields: The values of each field, by name.
        count: The number of objects.
    """
    rows = zip(*fields.values(), strict=True)
    slots = any("__slots__" in vars(each) for each in cls.__mro__[:-1])
    if slots or not hasattr(cls, "__dataclass_fields__"):
        return [cls(**dict(zip(fields, row, strict=True))) for row in rows]
    made: list[Any] = list(map(object.__new__, repeat(cls, count)))
    for each, row in zip(made, rows, strict=True):
        each.__dict__.update(zip(fields, row, strict=True))  # as the generated __init__ does
    return made


class RowType(ObjectType):
    """The Arrow type of columns of objects of a class.

    Args:
        cls: The class; its constructor takes the fields by name.
        fields: The names and types of the fields.
    """

    def __init__(self, cls: type, fields: Mapping[str, pa.DataType]) -> None:
        self.cls = cls
        pa.ExtensionType.__init__(self, pa.struct(list(fields.items())), "kstreams.row")

    @override
    def objects(self, storage: pa.StructArray) -> list[Any]:
        names = [field.name for field in self.storage_type]
        columns = map(objects_of, storage.flatten())
        return objects_with(self.cls, dict(zip(names, columns, strict=True)), len(storage))

    def __eq__(self, other: object) -> bool:
        """Compare the class and the fields."""
        return (
            isinstance(other, RowType)
            and self.cls is other.cls
            and self.storage_type == other.storage_type
        )

    def __hash__(self) -> int:
        """Hash the class."""
        return hash(self.cls)


class RowSerde(Serde[Any]):
    """The serde of objects that a `columns` function creates: the types of their columns.

    It cannot convert objects to bytes: an edge or topic encodes them with its own serde.

    Args:
        cls: The class of the objects.
        types: The type of each field.
        columns: The Arrow type of each field.
    """

    __slots__ = ("_types", "arrow_type", "name", "type_token")

    def __init__(
        self, cls: type, types: Mapping[str, FieldType], columns: Mapping[str, pa.DataType]
    ) -> None:
        self.name = f"columns[{cls.__name__}]"
        self.type_token = cls
        self.arrow_type = RowType(cls, columns)
        self._types = dict(types)

    def serialize(self, value: object) -> bytes:
        """Raise an error, because the objects have no bytes."""
        raise SerializationError(
            f"{self.name} exists only as columns; a {type(value).__name__} cannot be serialized"
        )

    def deserialize(self, data: bytes) -> object:
        """Raise an error, because the objects have no bytes."""
        raise DeserializationError(
            f"{self.name} exists only as columns; {len(data)} bytes cannot be decoded"
        )

    @property
    @override
    def field_types(self) -> Mapping[str, FieldType]:
        return self._types

    @override
    def field(self, column: pa.Array, name: str, kind: pa.DataType) -> pa.Array:
        if not isinstance(column.type, RowType):
            return super().field(column, name, kind)
        place = column.type.storage_type.get_field_index(name)
        found = column.storage.flatten()[place]
        return found if found.type == kind else super().field(column, name, kind)

    def __eq__(self, other: object) -> bool:
        """Compare the class and the fields."""
        return isinstance(other, RowSerde) and self.arrow_type == other.arrow_type

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)


def without_objects(serde: Serde[Any], column: pa.Array) -> pa.Array:
    """Return the columns of the objects' fields, if the serde can encode them; else the column.

    Args:
        serde: The serde that will encode the column.
        column: Any column.
    """
    kind = column.type
    same = isinstance(kind, RowType) and serde.type_token is kind.cls
    return column.storage if same and serde.arrow_type == kind.storage_type else column
