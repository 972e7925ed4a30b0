"""The serde of None, for keys or values that are always null."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from typing_extensions import override

from kstreams.errors import SerializationError
from kstreams.serde.base import Serde

__all__ = ("NONE", "NoneSerde")


class NoneSerde(Serde[None]):
    """The serde of None: writes null for None, and reads any bytes as None.

    As a topic's key serde it means that the keys do not matter.
    """

    __slots__ = ()
    name = "none"
    type_token = type(None)
    immutable = True
    hashes_by_bytes = True
    arrow_type = pa.null()

    def serialize(self, value: None) -> bytes:
        """Return empty bytes; anything but None is a `SerializationError`."""
        if value is not None:
            raise SerializationError(f"expected None, got {type(value).__name__}: {value!r}")
        return b""

    def deserialize(self, data: bytes) -> None:
        """Return None."""
        return

    @override
    def serialize_many(self, values: Sequence[None]) -> pa.Array:
        for value in values:
            self.serialize(value)
        return pa.nulls(len(values), pa.binary())

    @override
    def deserialize_many(self, data: pa.Array) -> list[None]:
        return [None] * len(data)

    @override
    def to_arrow(self, data: pa.Array) -> pa.Array:
        return pa.nulls(len(data))

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Return an array of nulls; anything but null is a `SerializationError`."""
        if column.null_count < len(column):
            raise SerializationError(
                f"expected only nulls for the serde none, got values of {column.type}"
            )
        return pa.nulls(len(column), pa.binary())

    def __reduce__(self) -> str:
        """Pickle as the constant `NONE`."""
        return "NONE"


NONE = NoneSerde()
"""The serde of None, which is always written as null."""
