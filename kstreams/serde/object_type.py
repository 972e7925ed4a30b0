"""Arrow types for columns of objects whose fields are columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from typing_extensions import override

from kstreams.serde.objects import objects_of

__all__ = ("ObjectType", "TupleType")


class ObjectType(pa.ExtensionType):  # type: ignore[misc]  # pyarrow is untyped
    """The base of Arrow types for columns of structs, each of which represents a Python object.

    Results are passed on as columns, and become objects only when they are read one by one.
    """

    def objects(self, storage: pa.StructArray) -> list[Any]:
        """Return the objects of the rows of a column."""
        raise NotImplementedError

    def of(self, *columns: pa.Array) -> pa.Array:
        """Return a column of this type from the columns of its fields."""
        names = [field.name for field in self.storage_type]
        return pa.ExtensionArray.from_storage(self, pa.StructArray.from_arrays(columns, names))

    def __arrow_ext_serialize__(self) -> bytes:
        """Return empty bytes: the storage type determines this type."""
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, _: bytes) -> ObjectType:
        """Create the type from the fields of its storage type."""
        return cls(*(field.type for field in storage_type))


class TupleType(ObjectType):
    """The Arrow type of columns of tuples of fixed length.

    Args:
        kinds: Types of the elements.
    """

    def __init__(self, *kinds: pa.DataType) -> None:
        fields = [(f"f{number}", kind) for number, kind in enumerate(kinds)]
        super().__init__(pa.struct(fields), "kstreams.tuple")

    @override
    def objects(self, storage: pa.StructArray) -> list[Any]:
        return list(zip(*map(objects_of, storage.flatten()), strict=True))
