"""Encodes columns of a DataFrame that are not bytes with a topic's serde, if their types allow it.

Tasks, the shuffle and the order of equal times then use the same bytes as with any other source,
and keys have the partitions that other producers of the topic choose.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.errors import SerializationError
from kstreams.serde.base import Serde

__all__ = ("encoded", "misfit")


def misfit(kind: pa.DataType, serde: Serde[Any]) -> str | None:
    """Return the reason why a serde cannot encode columns of a type; None if it can.

    Args:
        kind: The type of the columns: neither `binary` nor `string`.
        serde: The serde of a topic's keys or values.
    """
    if serde.plain is not serde:
        return (
            f"{serde.name} prepends schema ids to the bytes, which columns do not have: give "
            f"the topic the plain serde"
        )
    if serde.arrow_type == pa.binary():
        return f"{serde.name} reads only bytes, because it declares no Arrow type"
    return _misfit(kind, serde.arrow_type, "")


def encoded(column: pa.Array, serde: Serde[Any]) -> pa.Array:
    """Encode a column with a serde; null stays null.

    Args:
        column: A column of a type without `misfit`.
        serde: The serde of the topic's keys or values.

    Raises:
        SerializationError: A value is invalid, such as a null in a required field.
    """
    try:
        given = _converted(column, serde.arrow_type)
    except pa.ArrowException as exc:
        raise SerializationError(
            f"a column of {column.type} does not convert to {serde.name}: {exc}"
        ) from exc
    return serde.from_arrow(given).cast(pa.binary())


def _misfit(kind: pa.DataType, wanted: pa.DataType, place: str) -> str | None:
    if isinstance(wanted, pa.BaseExtensionType):
        wanted = wanted.storage_type
    if pa.types.is_struct(kind) and pa.types.is_struct(wanted):
        return _struct_misfit(kind, wanted, place)
    if _is_list(kind) and _is_list(wanted):
        return _misfit(kind.value_type, wanted.value_type, f"{place}[]")
    if _fits(kind, wanted):
        return None
    return f"{place.lstrip('.') or 'it'} is {kind}, expected {wanted}"


def _struct_misfit(kind: pa.DataType, wanted: pa.DataType, place: str) -> str | None:
    given, own = ([field.name for field in each] for each in (kind, wanted))
    if sorted(given) != sorted(own):
        fields = ", ".join(map(repr, own))
        return f"{place.lstrip('.') or 'it'} has fields {', '.join(map(repr, given))}, not {fields}"
    for name in own:
        problem = _misfit(kind.field(name).type, wanted.field(name).type, f"{place}.{name}")
        if problem is not None:
            return problem
    return None


def _fits(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether another Arrow type, such as a wider number, can hold each value of a type."""
    for is_it in (pa.types.is_integer, pa.types.is_floating):
        if is_it(kind) and is_it(wanted):
            return bool(kind.bit_width <= wanted.bit_width)
    for alike in (_is_text, _is_bytes, _is_instant):
        if alike(kind) and alike(wanted):
            return True
    return bool(kind == wanted)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_instant(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _converted(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Convert a column to a type: fields are matched by name, numbers are widened."""
    if column.type == wanted:
        return column
    if isinstance(wanted, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(wanted, _converted(column, wanted.storage_type))
    if not pa.types.is_struct(wanted):
        return column.cast(wanted)
    fields = [_converted(pc.struct_field(column, field.name), field.type) for field in wanted]
    mask = column.is_null() if column.null_count else None
    return pa.StructArray.from_arrays(fields, fields=list(wanted), mask=mask)
