"""Late records in columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.serde.base import Serde
from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of
from kstreams.windows.late import Late

__all__ = ("LateType",)


class LateType(ObjectType):
    """Values that a closed window refused.

    Args:
        value: Type of the values.
        serde: Decodes those that come as bytes.
    """

    def __init__(self, value: pa.DataType, serde: Serde[Any]) -> None:
        numbers = ("start_ms", "end_ms", "stream_time_ms", "lateness_ms")
        fields = [("value", value), *((name, pa.int64()) for name in numbers)]
        super().__init__(pa.struct(fields), "kstreams.late")
        self._serde = serde

    def objects(self, storage: pa.StructArray) -> list[Any]:
        """Return `Late` values."""
        values, *numbers = storage.flatten()
        whole = self._serde.arrow_type == pa.binary()
        found = self._serde.deserialize_many(values) if whole else objects_of(values)
        return list(map(Late, found, *map(objects_of, numbers)))
