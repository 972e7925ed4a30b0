"""How keys and values go through nodes that work by columns.

Numbers, text and bools go as Arrow has them. All else goes as the bytes that came, and is
decoded where somebody asks for a field or for the object: what only passes costs nothing, and
keeps what its reader's schema does not know.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.serde.base import Serde, is_carried_as_bytes
from kstreams.serde.objects import objects_of

__all__ = ("carried", "carried_fields", "carried_objects", "stays_bytes")


def stays_bytes(serde: Serde[Any]) -> bool:
    """Tell whether objects of a serde go through columns as bytes."""
    return is_carried_as_bytes(serde.arrow_type)


def carried(serde: Serde[Any], data: pa.Array) -> pa.Array:
    """Return encoded data as it goes through columns.

    Raises:
        DeserializationError: It is no number or text, where the serde says so.
    """
    return data if stays_bytes(serde) else serde.to_arrow(data)


def carried_objects(serde: Serde[Any], column: pa.Array) -> list[Any]:
    """Return the objects of a column of `carried`, or of nulls.

    Raises:
        DeserializationError: Bytes are not what the serde reads.
    """
    if stays_bytes(serde) and column.type != pa.null():
        return serde.deserialize_many(column)
    return objects_of(column)


def carried_fields(serde: Serde[Any], column: pa.Array) -> pa.Array:
    """Return a column of `carried` as `Serde.field` takes it.

    Raises:
        DeserializationError: Bytes are not what the serde reads.
    """
    if serde.decodes_fields or not stays_bytes(serde) or column.type == pa.null():
        return column
    return serde.to_arrow(column)
