"""The form of keys and values in columnar nodes.

Numbers, text and bools are Arrow columns of their type. All other values stay undecoded bytes, and
are decoded when a node reads a field or the object. Values that a node only forwards cost nothing,
and keep fields that the reader's schema does not have.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from kstreams.serde.base import Serde, is_carried_as_bytes
from kstreams.serde.objects import objects_of

__all__ = ("carried", "carried_fields", "carried_objects", "stays_bytes")


def stays_bytes(serde: Serde[Any]) -> bool:
    """Return whether objects of a serde stay bytes in columns."""
    return is_carried_as_bytes(serde.arrow_type)


def carried(serde: Serde[Any], data: pa.Array) -> pa.Array:
    """Convert encoded values to the form that columnar processors get: decoded, or still bytes.

    Raises:
        DeserializationError: Values of the serde are decoded to columns, and an element is invalid.
    """
    return data if stays_bytes(serde) else serde.to_arrow(data)


def carried_objects(serde: Serde[Any], column: pa.Array) -> list[Any]:
    """Return the objects of a column that is a result of `carried`, or is all null.

    Raises:
        DeserializationError: The serde cannot read an element.
    """
    if stays_bytes(serde) and column.type != pa.null():
        return serde.deserialize_many(column)
    return objects_of(column)


def carried_fields(serde: Serde[Any], column: pa.Array) -> pa.Array:
    """Return a column whose fields `Serde.field` can read; decode bytes if the serde requires it.

    Args:
        serde: The serde of the values.
        column: A result of `carried`: decoded values, or encoded values as bytes.

    Raises:
        DeserializationError: The serde cannot read an element.
    """
    if serde.decodes_fields or not stays_bytes(serde) or column.type == pa.null():
        return column
    return serde.to_arrow(column)
