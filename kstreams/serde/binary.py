"""Convert columns of numbers to columns of bytes and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints

__all__ = (
    "binary_array",
    "has_all",
    "heads_of",
    "int64_column",
    "read_times",
    "sortable_column",
    "sortable_times",
)


_SIGN = np.uint64(1 << 63)


def binary_array(data: npt.NDArray[np.uint8], count: int, width: int) -> pa.Array:
    """Return a `binary` array of `count` elements, each the next `width` bytes of the data."""
    offsets = np.arange(0, (count + 1) * width, width, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers, 0)


def heads_of(data: pa.Array, kind: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return the first bytes of each element of a `binary` array; None if an element is too short.

    Args:
        data: The array, without nulls.
        kind: The numpy type as which the first bytes are read; its size is their number.
    """
    heads = pc.binary_slice(data, 0, kind.itemsize)
    try:
        heads = heads.cast(pa.binary(kind.itemsize))
    except pa.ArrowInvalid:
        return None
    return np.frombuffer(heads.buffers()[1] or b"", kind, len(data))


def int64_column(numbers: Sequence[object]) -> Ints | None:
    """Return numbers as an int64 column, or None if one of them is not an int64."""
    try:
        column = np.array(numbers, None if numbers else np.int64)
    except (ValueError, OverflowError):
        return None
    return column if column.dtype == np.int64 and column.ndim == 1 else None


def sortable_times(times: Ints) -> npt.NDArray[np.uint64]:
    """Return int64 numbers as big-endian uint64 whose bytes sort as the numbers do."""
    bits: npt.NDArray[np.uint64] = times.astype(np.uint64) ^ _SIGN
    return bits.astype(">u8")


def read_times(data: bytes) -> Ints:
    """Decode the bytes of the result of `sortable_times`: 8 bytes per number."""
    bits: npt.NDArray[np.uint64] = np.frombuffer(data, ">u8").astype(np.uint64) ^ _SIGN
    return bits.astype(np.int64)


def sortable_column(numbers: Ints) -> pa.Array:
    """Return a `binary` array with the result of `sortable_int64` for each number."""
    return binary_array(sortable_times(numbers).view(np.uint8), len(numbers), 8)


def has_all(column: pa.Array, values: Sequence[object]) -> bool:
    """Return whether a column has a result for each value that is not None.

    Args:
        column: One field of each value; null for a value of None, or if the field is missing.
        values: The values.
    """
    nulls = column.null_count
    return not nulls or nulls == sum(value is None for value in values)
