"""Writes whole columns: the bytes of all values at once, field by field.

The bytes are equal to those of values that are written singly. Maps are not supported, because
their keys would have to be sorted and deduplicated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams_avro.datum import Malformed
from kstreams_avro.nodes import (
    Array,
    Enum,
    Fixed,
    Node,
    Primitive,
    Record,
    Union,
    is_null,
)
from kstreams_avro.sizes import is_recursive, parts_of
from kstreams_avro.steps.cursor import taken
from kstreams_avro.varints import put_long

__all__ = ("WriteColumn", "column_writer", "written")

WriteColumn: TypeAlias = Callable[[pa.Array], pa.Array]
"""Converts a column without nulls to a `binary` column of Avro data. Raises `Malformed`."""

_NOTHING = pa.scalar(b"", pa.binary())
_END = pa.scalar(b"\x00", pa.binary())
_RAW = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "bytes": pa.binary()}


def column_writer(node: Node) -> WriteColumn | None:
    """Return a function that writes columns of a type; None if values are written singly.

    The columns have the `arrow_type` that `Reading` returns.
    """
    if all(map(_has_columns, parts_of(node))):
        return _writer(node)
    return None


def written(write: WriteColumn, column: pa.Array) -> pa.Array:
    """Write the values of a column; null stays null."""
    if not column.null_count:
        return write(column)
    rows = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
    return taken(write(column.drop_null()), rows, len(column))


def _has_columns(part: Node) -> bool:
    match part:
        case Primitive() | Fixed():
            return part.conversion is None or part.conversion.name != "decimal"
        case Union():
            return len(part.branches) == 2 and any(map(is_null, part.branches))
        case Record():
            return bool(part.fields) and not is_recursive(part)
        case Enum() | Array():
            return True
        case _:
            return False


def _writer(node: Node) -> WriteColumn:
    match node:
        case Primitive():
            return _primitive(node)
        case Fixed():
            return lambda column: column.cast(pa.binary())
        case Enum():
            symbols = pa.array(node.symbols)
            return lambda column: _longs(_numbers_of(column, symbols))
        case Array():
            return _array(_writer(node.items), nullable=_nullable(node.items))
        case Record():
            return _record(node)
        case Union():
            return _optional(node)
        case _:
            raise AssertionError(node)


def _primitive(node: Primitive) -> WriteColumn:
    match node.name:
        case "null":
            return lambda column: pa.array([b""] * len(column), pa.binary())
        case "boolean":
            return lambda column: _fixed(column.cast(pa.uint8()).to_numpy().view(np.uint8), 1)
        case "float":
            return lambda column: _fixed(column.to_numpy().astype("<f4", copy=False), 4)
        case "double":
            return lambda column: _fixed(column.to_numpy().astype("<f8", copy=False), 8)
        case "int" | "long":
            raw, conversion = _RAW[node.name], node.conversion

            def write(column: pa.Array) -> pa.Array:
                numbers = column.view(raw)
                if conversion is not None:
                    conversion.column(numbers)  # checks the range
                return _longs(numbers.to_numpy())

            return write
        case _:
            return _pieces(node)


def _pieces(node: Primitive) -> WriteColumn:
    conversion = node.conversion

    def write(column: pa.Array) -> pa.Array:
        if conversion is not None:  # a UUID: in the way in which single ones are written
            column = pc.utf8_lower(conversion.column(column))
        data = column.cast(pa.binary())
        return pc.binary_join_element_wise(
            _longs(pc.binary_length(data).to_numpy()), data, _NOTHING
        )

    return write


def _array(write: WriteColumn, *, nullable: bool) -> WriteColumn:
    def writes(column: pa.Array) -> pa.Array:
        offsets = column.offsets
        first, last = offsets[0].as_py(), offsets[-1].as_py()
        items = column.values.slice(first, last - first)
        if items.null_count and not nullable:
            raise Malformed("an item of a list is null, but its schema does not allow null")
        starts = offsets.to_numpy() - first
        counts = np.diff(starts)
        lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), write(items))
        heads = pc.if_else(pa.array(counts > 0), _longs(counts), _NOTHING)
        return pc.binary_join_element_wise(heads, pc.binary_join(lists, b""), _END, _NOTHING)

    return writes


def _record(node: Record) -> WriteColumn:
    writers = [(field.name, _writer(field.type), _nullable(field.type)) for field in node.fields]

    def write(column: pa.Array) -> pa.Array:
        parts = []
        for (name, each, nullable), part in zip(writers, column.flatten(), strict=True):
            if part.null_count and not nullable:
                raise Malformed("the value is null, but its schema does not allow null").within(
                    name
                )
            parts.append(each(part))
        return parts[0] if len(parts) == 1 else pc.binary_join_element_wise(*parts, _NOTHING)

    return write


def _nullable(node: Node) -> bool:
    return isinstance(node, Union) or is_null(node)


def _optional(node: Union) -> WriteColumn:
    (null,) = (number for number, branch in enumerate(node.branches) if is_null(branch))
    write = _writer(node.branches[1 - null])
    heads = [bytearray(), bytearray()]
    put_long(heads[0], null)
    put_long(heads[1], 1 - null)
    nothing, head = (pa.scalar(bytes(each), pa.binary()) for each in heads)

    def writes(column: pa.Array) -> pa.Array:
        pieces = written(
            lambda some: pc.binary_join_element_wise(head, write(some), _NOTHING), column
        )
        return pc.fill_null(pieces, nothing)

    return writes


def _numbers_of(column: pa.Array, symbols: pa.Array) -> npt.NDArray[np.int64]:
    numbers = pc.index_in(column, symbols)
    if numbers.null_count:
        raise Malformed("a text is not one of the symbols of the enum")
    found: npt.NDArray[np.int64] = numbers.to_numpy().astype(np.int64)
    return found


def _fixed(numbers: npt.NDArray[np.generic], width: int) -> pa.Array:
    """Return a `binary` column with the bytes that numbers have in memory."""
    count = len(numbers)
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    data = np.ascontiguousarray(numbers)
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data)], 0
    )


def _longs(numbers: npt.NDArray[np.integer]) -> pa.Array:
    """Return a `binary` column of numbers in the encoding of `long`."""
    longs = numbers.astype(np.int64)
    bits = ((longs << 1) ^ (longs >> 63)).view(np.uint64)
    most = int(bits.max()) if len(bits) else 0
    if most < 0x80:
        return _fixed(bits.astype(np.uint8), 1)
    room = -(-most.bit_length() // 7)
    groups = np.arange(room)
    rests = bits[:, None] >> (7 * groups).astype(np.uint64)
    widths = np.maximum((rests != 0).sum(axis=1), 1)
    octets = (rests & np.uint64(0x7F)).astype(np.uint8)
    octets |= np.where(groups < widths[:, None] - 1, np.uint8(0x80), np.uint8(0))
    offsets = np.zeros(len(bits) + 1, np.int32)
    np.cumsum(widths, out=offsets[1:])
    data = octets[groups < widths[:, None]]
    return pa.Array.from_buffers(
        pa.binary(), len(bits), [None, pa.py_buffer(offsets), pa.py_buffer(data)], 0
    )
