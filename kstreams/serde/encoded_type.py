"""Columns of encoded objects, which are decoded when `objects_of` reads them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from typing_extensions import override

from kstreams.serde.base import Serde
from kstreams.serde.object_type import ObjectType

__all__ = ("EncodedType", "encoded_by")


class EncodedType(ObjectType):
    """The Arrow type of columns of objects that a serde has encoded.

    Keep a reference to the type while its columns exist: Arrow has only a weak reference.

    Args:
        serde: The serde that encodes and decodes the objects.
    """

    def __init__(self, serde: Serde[Any]) -> None:
        self._serde = serde
        pa.ExtensionType.__init__(self, pa.binary(), "kstreams.encoded")

    def column(self, values: list[Any]) -> pa.Array:
        """Return a column of objects.

        Raises:
            SerializationError: The serde cannot write an object.
        """
        return pa.ExtensionArray.from_storage(self, self._serde.serialize_many(values))

    def of_bytes(self, data: pa.Array) -> pa.Array:
        """Return a column of encoded objects."""
        return pa.ExtensionArray.from_storage(self, data)

    def is_of(self, serde: Serde[Any]) -> bool:
        """Return whether a serde has encoded the objects."""
        return self._serde == serde

    @override
    def objects(self, storage: pa.Array) -> list[Any]:
        return self._serde.deserialize_many(storage)

    def __eq__(self, other: object) -> bool:
        """Compare by serde."""
        return isinstance(other, EncodedType) and other._serde == self._serde

    def __hash__(self) -> int:
        """Hash by the serde's name."""
        return hash(self._serde.name)


def encoded_by(serde: Serde[Any], column: pa.Array) -> pa.Array | None:
    """Return the bytes of a column of objects that a serde has encoded; None for other columns."""
    kind = column.type
    return column.storage if isinstance(kind, EncodedType) and kind.is_of(serde) else None
