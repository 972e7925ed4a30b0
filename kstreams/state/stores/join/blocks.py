"""Blocks: what one batch has brought to one side of a join in one slot of time, as columns."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from kstreams._types import Ints
from kstreams.errors import DeserializationError
from kstreams.serde.composite import read_int64, sortable_int64
from kstreams.state.stores.join.coding import BLOCK

__all__ = (
    "BLOCK_BOUNDS",
    "BLOCK_BYTES",
    "Block",
    "block_handle",
    "block_place",
    "block_prefix",
    "bytes_of",
    "in_blocks",
    "read_block",
    "slot_width",
    "write_block",
)

BLOCK_BOUNDS: Final = BLOCK, bytes((BLOCK[0] + 1,))
"""The bytes of all blocks' keys, from and before."""
BLOCK_BYTES: Final = 256 * 1024
"""What a block's keys and values have, about; a record that is larger has a block of its own."""

_SLOTS = 4
"""A bucket has two to the power of so many slots: what is forgotten goes by slots."""
_HEAD = struct.Struct("<BIIII")
_ENDS = np.dtype("<u4")
_TIMES = np.dtype("<i8")
_FATES = np.dtype("u1")
_TAG = 3


@dataclass(frozen=True)
class Block:
    """Elements of one side and slot, in the order of arrival, and what has become of older ones.

    Attributes:
        keys: The keys, as stores keep them.
        times: Times, ms.
        numbers: Numbers.
        fates: 1 for waiting, 0 for settled.
        values: The bytes of the values.
        settled: Numbers of elements in older blocks of the slot that wait no more.
    """

    keys: pa.Array
    times: Ints
    numbers: Ints
    fates: Ints
    values: pa.Array
    settled: Ints


def slot_width(width: int) -> int:
    """Return how long a slot is, where a bucket is so long, ms; it lies in one bucket."""
    return max(1, width >> _SLOTS)


def block_prefix(side: int, slot: int) -> bytes:
    """Return what the bytes of the keys of a slot's blocks begin with; slots of a side rise."""
    return BLOCK + bytes((side,)) + sortable_int64(slot)


def block_handle(side: int, slot: int, number: int) -> bytes:
    """Return the bytes of a block's key."""
    return block_prefix(side, slot) + sortable_int64(number)


def block_place(handle: bytes) -> tuple[int, int]:
    """Return side and slot of a block's key."""
    return handle[1], read_int64(handle, 2)


def write_block(block: Block) -> bytes:
    """Return the bytes of a block."""
    key_ends, keys = _pieces(block.keys)
    value_ends, values = _pieces(block.values)
    sizes = len(block.times), len(block.settled), len(keys), len(values)
    parts = (
        _HEAD.pack(_TAG, *sizes),
        block.times.astype(_TIMES).tobytes(),
        block.numbers.astype(_TIMES).tobytes(),
        block.settled.astype(_TIMES).tobytes(),
        key_ends,
        value_ends,
        block.fates.astype(_FATES).tobytes(),
        keys,
        values,
    )
    return b"".join(parts)


def read_block(data: bytes) -> Block:
    """Read the bytes of a block.

    Raises:
        DeserializationError: They are none, or cut short.
    """
    if len(data) < _HEAD.size or data[0] != _TAG:
        raise DeserializationError(f"expected a block of a join, got {data[:40]!r}")
    _, count, settled, key_bytes, value_bytes = _HEAD.unpack_from(data)
    kinds = (
        (_TIMES, count),
        (_TIMES, count),
        (_TIMES, settled),
        (_ENDS, count),
        (_ENDS, count),
        (_FATES, count),
    )
    place = _HEAD.size
    if len(data) != place + sum(kind.itemsize * n for kind, n in kinds) + key_bytes + value_bytes:
        raise DeserializationError(f"a block of a join is cut short: {data[:40]!r}")
    columns = []
    for kind, length in kinds:
        columns.append(np.frombuffer(data, kind, length, place).astype(np.int64))
        place += kind.itemsize * length
    times, numbers, gone, key_ends, value_ends, fates = columns
    keys = _binary_column(key_ends, data[place : place + key_bytes])
    return Block(
        keys, times, numbers, fates, _binary_column(value_ends, data[place + key_bytes :]), gone
    )


def _binary_column(ends: Ints, data: bytes) -> pa.Array:
    """Return pieces of bytes that end at places; the last one at the end of all.

    Raises:
        DeserializationError: The places do not fit.
    """
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    if int(offsets[-1]) != len(data) or (np.diff(offsets) < 0).any():
        raise DeserializationError("the pieces of a block of a join do not fit together")
    return pa.Array.from_buffers(
        pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def bytes_of(column: pa.Array) -> Ints:
    """Return how many bytes each piece has."""
    return np.diff(_offsets(column))


def in_blocks(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Yield begin and end of runs of elements that fit into blocks, by the bytes of each."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + BLOCK_BYTES, "right")))
        yield begin, end
        begin = end


def _pieces(column: pa.Array) -> tuple[bytes, bytes]:
    """Return the ends of a column's pieces, as bytes, and all its bytes."""
    offsets = _offsets(column)
    data = column.buffers()[2]
    begin, end = int(offsets[0]), int(offsets[-1])
    content = b"" if data is None else data[begin:end].to_pybytes()
    return (offsets[1:] - begin).astype(_ENDS).tobytes(), content


def _offsets(column: pa.Array) -> Ints:
    found = column.buffers()[1]
    if found is None:
        return np.zeros(1, np.int64)
    offsets = np.frombuffer(found, np.int32)[column.offset : column.offset + len(column) + 1]
    return offsets.astype(np.int64)
