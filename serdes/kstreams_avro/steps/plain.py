"""Columns of values that are read one by one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.types as kinds

from kstreams_avro.datum import Datum

__all__ = ("plain_array",)


def plain_array(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return a column of values that were read one by one, as dicts, lists and scalars."""
    return pa.array([_plain(value, kind) for value in values], kind)


def _plain(value: Datum, kind: pa.DataType) -> Datum:
    if value is None:
        return None
    if kinds.is_struct(kind):
        return {field.name: _plain(value[field.name], field.type) for field in kind}
    if kinds.is_map(kind):
        return [(key, _plain(item, kind.item_type)) for key, item in value.items()]
    if kinds.is_list(kind):
        return [_plain(item, kind.value_type) for item in value]
    if isinstance(value, UUID):
        return str(value) if kinds.is_string(kind) else value.bytes
    return value
