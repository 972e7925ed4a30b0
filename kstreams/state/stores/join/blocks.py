"""Blocks: the records that one batch adds to one side of a join in one time slot, as columns.

Slots are equal spans of time on a fixed grid: slot `n` of width `w` has the records with timestamps
from `n * w` to `(n + 1) * w - 1` ms. Records too old for the join are deleted slot by slot.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
"""The encoded bounds of all blocks' keys: start inclusive, end exclusive."""
BLOCK_BYTES: Final = 256 * 1024
"""Approximate limit for the keys and values of a block; a larger record has a block of its own."""

_SLOTS = 4
"""Binary logarithm of the number of slots per bucket; old blocks are deleted by slot."""
_HEAD = struct.Struct("<BIIII")
_ENDS = np.dtype("<u4")
_TIMES = np.dtype("<i8")
_FATES = np.dtype("u1")
_TAG, _HEADERS_TAG = 3, 5
_LONG = struct.Struct("<BI")
"""The tag of a block with headers, and the number of bytes of the block without headers."""


@dataclass(frozen=True)
class Block:
    """The records (elements) that a batch adds to a side and slot of a join, in arrival order.

    An element waits if the join will forward it alone unless it finds a partner. It is settled when
    it has a partner, or if the join never forwards it alone.

    Attributes:
        keys: The encoded keys, as in stores.
        times: The timestamps of the elements, ms.
        numbers: The arrival numbers of the elements.
        fates: 1 for elements that wait for a partner, 0 for settled elements.
        values: The encoded values.
        settled: The numbers of elements in older blocks of the slot that this batch has settled.
        headers: The headers of waiting elements, as `write_headers` returns them; None where
            no element has headers.
    """

    keys: pa.Array
    times: Ints
    numbers: Ints
    fates: Ints
    values: pa.Array
    settled: Ints
    headers: pa.Array | None = None


def slot_width(width: int) -> int:
    """Return the width of a time slot, in ms.

    Args:
        width: The width of a time bucket (`Setup.width`) in ms; a bucket has 16 slots.
    """
    return max(1, width >> _SLOTS)


def block_prefix(side: int, slot: int) -> bytes:
    """Return the common prefix of the encoded keys of all blocks of a side and a time slot.

    The prefixes of one side are in the order of their slots.
    """
    return BLOCK + bytes((side,)) + sortable_int64(slot)


def block_handle(side: int, slot: int, number: int) -> bytes:
    """Return the encoded key of a block; `number` is unique within its side and slot."""
    return block_prefix(side, slot) + sortable_int64(number)


def block_place(handle: bytes) -> tuple[int, int]:
    """Return the side and the slot in the encoded key of a block."""
    return handle[1], read_int64(handle, 2)


def write_block(block: Block) -> bytes:
    """Encode a block: first its content without headers, then its headers, if any."""
    plain = _write_plain(block)
    if block.headers is None or not bytes_of(block.headers).any():
        return plain
    return b"".join((_LONG.pack(_HEADERS_TAG, len(plain)), plain, *_pieces(block.headers)))


def _write_plain(block: Block) -> bytes:
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
        DeserializationError: The bytes are not a block, or are cut short.
    """
    if data[:1] != bytes((_HEADERS_TAG,)):
        return _read_plain(data)
    if len(data) < _LONG.size:
        raise DeserializationError(f"a block of buffered join records is truncated: {data[:40]!r}")
    begin = _LONG.size + _LONG.unpack_from(data)[1]
    block = _read_plain(data[_LONG.size : begin])
    count = len(block.times)
    end = begin + _ENDS.itemsize * count
    if len(data) < end:
        raise DeserializationError(f"a block of buffered join records is truncated: {data[:40]!r}")
    ends = np.frombuffer(data, _ENDS, count, begin).astype(np.int64)
    return replace(block, headers=_binary_column(ends, data[end:]))


def _read_plain(data: bytes) -> Block:
    if len(data) < _HEAD.size or data[0] != _TAG:
        raise DeserializationError(f"expected a block of buffered join records, got {data[:40]!r}")
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
        raise DeserializationError(f"a block of buffered join records is truncated: {data[:40]!r}")
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
    """Return a binary column of `data`, given the end position of each item in `data`.

    Raises:
        DeserializationError: The positions decrease, or the last is not the end of `data`.
    """
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    if int(offsets[-1]) != len(data) or (np.diff(offsets) < 0).any():
        raise DeserializationError(
            "a block of buffered join records is damaged: positions do not match its length"
        )
    return pa.Array.from_buffers(
        pa.binary(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )


def bytes_of(column: pa.Array) -> Ints:
    """Return the number of bytes of each item of a binary column."""
    return np.diff(_offsets(column))


def in_blocks(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Divide elements into blocks, given each size in bytes; yield start and end positions."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + BLOCK_BYTES, "right")))
        yield begin, end
        begin = end


def _pieces(column: pa.Array) -> tuple[bytes, bytes]:
    """Encode a binary column: return the items' encoded end positions, and their joined bytes."""
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
