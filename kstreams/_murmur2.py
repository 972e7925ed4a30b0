"""Kafka's murmur2 hash of one key, and of a whole Arrow column.

The column form works on offsets and data as they lie in memory, a block of
rows at a time so that its scratch columns stay in the CPU's cache. A block
whose keys all have one length is read through strided views of the data. Any
other block is ordered by length, so that the keys which still have a word to
mix are always a suffix of the block.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Union, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ("ArrowKeys", "buffers_of", "murmur2_of", "murmur2_of_column")

ArrowKeys = Union["pa.Array[Any]", "pa.ChunkedArray[Any]"]
"""A column of keys: binary or string in any of Arrow's layouts with offsets, or fixed-size."""

_Words = npt.NDArray[np.uint32]
_Bytes = npt.NDArray[np.uint8]
_Ints = npt.NDArray[np.int64]

_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_MASK = 0xFFFFFFFF

_M = np.uint32(_MULTIPLIER)
_BLOCK_ROWS = 16_384
_FEW_ROWS = 16
"""At this many rows or fewer, numpy's cost per call exceeds the scalar form's per key."""


def _unpacking(length: int) -> Callable[[bytes], tuple[int, ...]]:
    """Return a function that splits `length` bytes into 32-bit words and the 0 to 3 last bytes."""
    return Struct(f"<{length >> 2}I" + ("", "B", "H", "HB")[length & 3]).unpack


_UNPACK = tuple(_unpacking(length) for length in range(129))


def murmur2_of(data: bytes) -> int:
    """Return the hash of one key as an unsigned 32-bit integer."""
    length = len(data)
    tail = length & 3
    words = _UNPACK[length](data) if length < len(_UNPACK) else _unpacking(length)(data)
    value = _SEED ^ length
    for word in words[: length >> 2]:
        mixed = word * _MULTIPLIER & _MASK
        value = ((mixed ^ mixed >> 24) * _MULTIPLIER ^ value * _MULTIPLIER) & _MASK
    if tail:
        last = words[-1] if tail < 3 else words[-2] | words[-1] << 16
        value = (value ^ last) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    return value ^ value >> 15


def murmur2_of_column(keys: ArrowKeys) -> _Words:
    """Return the hash of each key of a column, in its order.

    Returns:
        A new array with one uint32 per row; the hash of a null row is undefined.

    Raises:
        TypeError: The column's type is neither binary nor string.
    """
    hashes = np.empty(len(keys), np.uint32)
    first = 0
    for chunk in keys.chunks if isinstance(keys, pa.ChunkedArray) else (keys,):
        offsets, data = buffers_of(chunk)
        for start in range(0, len(chunk), _BLOCK_ROWS):
            block = offsets[start : start + _BLOCK_ROWS + 1]
            rows = len(block) - 1
            _hash_block(data, block, hashes[first : first + rows])
            first += rows
    return hashes


def buffers_of(keys: pa.Array[Any]) -> tuple[npt.NDArray[np.signedinteger[Any]], _Bytes]:
    """Return the offsets of the rows (one more than there are rows), and the data they index."""
    kind = keys.type
    buffers = keys.buffers()
    data = np.frombuffer(_memory(buffers[-1]), np.uint8)
    if pa.types.is_fixed_size_binary(kind):
        return (np.arange(len(keys) + 1) + keys.offset) * kind.byte_width, data
    if pa.types.is_binary(kind) or pa.types.is_string(kind):
        width: type[np.signedinteger[Any]] = np.int32
    elif pa.types.is_large_binary(kind) or pa.types.is_large_string(kind):
        width = np.int64
    else:
        raise TypeError(
            f"keys are {kind}, expected binary or string\nHint: serialize the keys first."
        )
    if len(keys) == 0:
        return np.zeros(1, width), data
    offsets = np.frombuffer(_memory(buffers[1]), width)
    return offsets[keys.offset : keys.offset + len(keys) + 1], data


def _memory(buffer: pa.Buffer | None) -> memoryview:
    # Arrow's buffers have the buffer protocol; the type stubs lack it.
    return memoryview(b"") if buffer is None else cast("memoryview", buffer)


def _hash_block(data: _Bytes, offsets: npt.NDArray[np.signedinteger[Any]], out: _Words) -> None:
    lengths = np.diff(offsets)
    if len(lengths) <= _FEW_ROWS:
        _hash_rows(data, offsets[:-1], lengths, out)
    elif (lengths == lengths[0]).all():
        _hash_equal(data, int(offsets[0]), int(lengths[0]), out)
    else:
        _hash_mixed(data, offsets[:-1].astype(np.int64), lengths, out)


def _hash_rows(
    data: _Bytes, starts: npt.NDArray[Any], lengths: npt.NDArray[Any], out: _Words
) -> None:
    for row, (start, length) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        out[row] = murmur2_of(data[start : start + length].tobytes())


def _hash_equal(data: _Bytes, start: int, length: int, out: _Words) -> None:
    """Write the hashes of consecutive rows of `length` bytes, from `start` on, to `out`."""
    scratch = np.empty_like(out)
    out[:] = _SEED ^ length
    for position in range(start, start + length - 3, 4):
        words: _Words = np.ndarray(out.shape, "<u4", data, position, (length,))
        np.multiply(words, _M, out=scratch)
        _mix(out, scratch)
    tail = length & 3
    for index in range(tail):
        single: _Bytes = np.ndarray(
            out.shape, np.uint8, data, start + length - tail + index, (length,)
        )
        np.left_shift(single, np.uint32(8 * index), out=scratch, dtype=np.uint32)
        out ^= scratch
    if tail:
        out *= _M
    _finish(out, scratch)


def _hash_mixed(data: _Bytes, starts: _Ints, lengths: npt.NDArray[Any], out: _Words) -> None:
    """Write the hashes of rows of several lengths to `out`; sorts the rows by length first."""
    # numpy sorts 16-bit integers by radix: five times faster than wider ones.
    narrow = lengths.astype(np.uint16) if lengths.max() < 1 << 16 else lengths
    order = np.argsort(narrow, kind="stable")
    positions, sizes = starts[order], lengths[order]
    hashes = sizes.astype(np.uint32) ^ np.uint32(_SEED)
    scratch = np.empty_like(hashes)
    if len(data) < 4:
        data = np.concatenate((data, np.zeros(4, np.uint8)))
    words: _Words = np.ndarray((len(data) - 3,), "<u4", data, 0, (1,))
    active = int(np.searchsorted(sizes, 4))
    wanted = 4
    while len(sizes) - active > _FEW_ROWS:
        np.multiply(words[positions[active:]], _M, out=scratch[active:])
        _mix(hashes[active:], scratch[active:])
        positions[active:] += 4
        wanted += 4
        active = int(np.searchsorted(sizes, wanted))
    _mix_tails(words, positions[:active], sizes[:active], hashes[:active])
    _finish(hashes, scratch)
    out[order] = hashes
    longest = order[active:]
    if len(longest):
        few = np.empty(len(longest), np.uint32)
        _hash_rows(data, starts[longest], lengths[longest], few)
        out[longest] = few


def _mix_tails(words: _Words, positions: _Ints, sizes: npt.NDArray[Any], hashes: _Words) -> None:
    """Mix in the last 0 to 3 bytes of each row."""
    tails = (sizes & 3).astype(np.uint32)
    # A word that would reach beyond the data is read from its end and shifted.
    readable = np.minimum(positions, len(words) - 1)
    excess = (positions - readable).astype(np.uint32)
    tail = words[readable] >> (excess << np.uint32(3))
    tail &= (np.uint32(1) << (tails << np.uint32(3))) - np.uint32(1)
    hashes ^= tail
    hashes *= np.where(tails > 0, _M, np.uint32(1))


def _mix(hashes: _Words, words: _Words) -> None:
    """Mix words, already multiplied once, into the hashes; both change in place."""
    words ^= words >> np.uint32(24)
    words *= _M
    hashes *= _M
    hashes ^= words


def _finish(hashes: _Words, scratch: _Words) -> None:
    np.right_shift(hashes, np.uint32(13), out=scratch)
    hashes ^= scratch
    hashes *= _M
    np.right_shift(hashes, np.uint32(15), out=scratch)
    hashes ^= scratch
