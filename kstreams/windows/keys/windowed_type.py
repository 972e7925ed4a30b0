"""The Arrow extension type of windowed keys."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.serde.object_type import ObjectType
from kstreams.serde.objects import objects_of
from kstreams.windowed import Windowed

__all__ = ("WindowedType",)


class WindowedType(ObjectType):
    """Extension type of windowed keys, with the fields `key`, `start_ms` and `end_ms`.

    Args:
        key: Type of the keys.
    """

    def __init__(self, key: pa.DataType, *_: pa.DataType) -> None:
        fields = [("key", key), ("start_ms", pa.int64()), ("end_ms", pa.int64())]
        super().__init__(pa.struct(fields), "kstreams.windowed")

    def objects(self, storage: pa.StructArray) -> list[Any]:
        """Convert rows of the storage to `Windowed` keys."""
        return list(map(Windowed, *map(objects_of, storage.flatten())))
