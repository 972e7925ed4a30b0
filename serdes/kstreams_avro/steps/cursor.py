"""Read positions in the bytes of many values, which advance together.

Avro data has no offsets: a field begins where the previous field ends. So numpy reads a field of
all values at once, which moves their positions to the next field.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams_avro.datum import Malformed

__all__ = ("Cursor", "Ints", "taken")

Ints = npt.NDArray[np.int64]
"""An array with one number per row."""

_PADDING = np.zeros(24, np.uint8)
"""The padding after the last value, so that reads at its end stay inside."""

_TOPS = np.uint64(0x8080808080808080)
_SEVENS = np.uint64(0x7F7F7F7F7F7F7F7F)
_ONE = np.uint64(1)
_MAX_LENGTH = (1 << 31) - 1


class Cursor:
    """The position of the next byte of each value.

    Args:
        data: The bytes of all values, with a padding at the end.
        places: The offset in `data` of each value's next byte, ascending; changed by the cursor.
        ends: The offset in `data` after each value.
    """

    def __init__(self, data: npt.NDArray[np.uint8], places: Ints, ends: Ints) -> None:
        self._data = data
        self._places = places
        self._ends = ends

    @classmethod
    def over(cls, column: pa.Array) -> Cursor:
        """Return a cursor at the start of the values of a `binary` column without nulls."""
        count = len(column)
        _, places, held = column.buffers()
        offsets = np.frombuffer(places, np.int32)[column.offset : column.offset + count + 1]
        first, last = (offsets[0], offsets[-1]) if count else (0, 0)
        data = np.frombuffer(held, np.uint8)[first:last] if last > first else _PADDING[:0]
        bounds = offsets.astype(np.int64) - first
        return cls(np.concatenate((data, _PADDING)), bounds[:-1].copy(), bounds[1:])

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._places)

    def some(self, rows: Ints) -> Cursor:
        """Return a cursor of some rows (ascending); `follow` copies its positions back."""
        return Cursor(self._data, self._places[rows], self._ends[rows])

    def follow(self, rows: Ints, other: Cursor) -> None:
        """Copy the positions of some rows from another cursor."""
        self._places[rows] = other._places

    def rest(self, row: int) -> bytes:
        """Return the remaining bytes of one value."""
        return self._data[self._places[row] : self._ends[row]].tobytes()

    def left(self) -> Ints:
        """Return the number of remaining bytes of each value."""
        return self._ends - self._places

    def finish(self) -> None:
        """Raise `Malformed` if a value has remaining bytes."""
        if not np.array_equal(self._places, self._ends):
            raise Malformed("bytes are left over after a value")

    def advance(self, lengths: Ints | int) -> Ints:
        """Advance by a number of bytes; return the previous positions.

        Raises:
            Malformed: A value has fewer remaining bytes, or a length is negative.
        """
        starts = self._places
        given = isinstance(lengths, np.ndarray) and len(lengths)
        if given and (np.min(lengths) < 0 or np.max(lengths) > _MAX_LENGTH):
            raise Malformed("a length is negative, or exceeds 2 GiB")
        self._places = starts + lengths
        if (self._places > self._ends).any():
            raise Malformed("the data is cut short")
        return starts

    def octets(self) -> npt.NDArray[np.uint8]:
        """Read one byte of each value."""
        return self._data[self.advance(1)]

    def numbers(self, code: str) -> npt.NDArray[Any]:
        """Read a little-endian number of fixed width of each value, given its numpy type code."""
        kind = np.dtype(code)
        starts = self.advance(kind.itemsize)
        return self._view(kind)[starts].astype(kind.newbyteorder("="), copy=False)

    def longs(self) -> Ints:
        """Read a number of variable length (`int` or `long`) of each value."""
        starts = self._places
        small = self._data[starts]
        if not (small & 0x80).any():
            self.advance(1)
            shorts: Ints = ((small >> 1) ^ -(small & 1)).view(np.int8).astype(np.int64)
            return shorts
        words = self._view(np.dtype("<u8"))[starts].astype(np.uint64, copy=False)
        stops = ~words & _TOPS
        long = np.flatnonzero(stops == 0)
        stop = stops & (~stops + _ONE)  # the top bit of the number's last byte
        numbers = _seven_bits(words & (stop - _ONE))
        widths = ((stop.astype(np.float64).view(np.int64) >> 52) - 1023 + 1) >> 3
        if len(long):
            numbers[long], widths[long] = self._long(starts[long])
        self.advance(widths)
        longs: Ints = ((numbers >> _ONE) ^ (~(numbers & _ONE) + _ONE)).view(np.int64)
        return longs

    def _long(self, starts: Ints) -> tuple[npt.NDArray[np.uint64], Ints]:
        """Read numbers of nine or ten bytes; a tenth byte has only one bit."""
        numbers = _seven_bits(self._view(np.dtype("<u8"))[starts].astype(np.uint64))
        ninth = self._data[starts + 8].astype(np.uint64)
        tenth = self._data[starts + 9].astype(np.uint64)
        longest = ninth >= 0x80
        if (tenth[longest] > 1).any():
            raise Malformed("a number has more than 64 bits")
        numbers |= (ninth & np.uint64(0x7F)) << np.uint64(56)
        numbers[longest] |= tenth[longest] << np.uint64(63)
        return numbers, np.where(longest, 10, 9)

    def _view(self, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        """Return a view with the number that starts at each byte."""
        count = len(self._data) - kind.itemsize + 1
        view: npt.NDArray[Any] = np.ndarray((count,), kind, self._data, strides=(1,))
        return view

    def pieces(self) -> pa.Array:
        """Read length-prefixed bytes of each value, as a `binary` column."""
        lengths = self.longs()
        return self._pieces(self.advance(lengths), self._places)

    def _pieces(self, starts: Ints, ends: Ints) -> pa.Array:
        """Copy ascending, non-overlapping byte ranges to a `binary` column."""
        count = len(starts)
        if not count:
            return pa.array([], pa.binary())
        offsets = np.empty(2 * count, np.int32)
        offsets[0::2] = starts
        offsets[1::2] = ends
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self._data)]
        both = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers, 0)
        return both.take(pa.array(np.arange(0, 2 * count, 2)))

    def fixed(self, size: int) -> pa.Array:
        """Read this number of bytes of each value, as a column of fixed width."""
        starts = self.advance(size)
        held = self._data[starts[:, None] + np.arange(size)]
        return pa.Array.from_buffers(
            pa.binary(size), len(starts), [None, pa.py_buffer(np.ascontiguousarray(held))], 0
        )


def taken(column: pa.Array, rows: Ints, count: int) -> pa.Array:
    """Return a column of `count` rows: the values of `column` at `rows` (ascending), else null."""
    if len(rows) == count:
        return column
    places = np.zeros(count, np.int64)
    places[rows] = np.arange(len(rows))
    missing = np.ones(count, bool)
    missing[rows] = False
    return column.take(pa.array(places, mask=missing))


def _seven_bits(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Join the lower seven bits of the eight bytes of each word."""
    bits: npt.NDArray[np.uint64] = words & _SEVENS
    for low, high, shift in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    ):
        bits = (bits & np.uint64(low)) | ((bits & np.uint64(high)) >> np.uint64(shift))
    return bits
