"""Convert columns to encoded values of fixed width and back, without an object per value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.binary import binary_array
from kstreams.serde.composite import TupleSerde
from kstreams.serde.numbers import DOUBLE, INT32, INT64
from kstreams.serde.stamped import StampedSerde

__all__ = ("Columns", "FixedLayout", "fixed_layout", "slice_layout", "span_layout")

Columns = tuple[npt.NDArray[Any], ...]
"""One array for each number in a value; all have equal length and the machine's byte order."""

_LENGTH = ">u4"
_NUMBERS = {INT64: ">i8", INT32: ">i4", DOUBLE: ">f8"}


class FixedLayout:
    """The byte layout of a serde's values, if all have the same width.

    Args:
        fields: The numpy type of each field, and its content if that is constant.

    Attributes:
        width: The number of bytes of a value.
        column_count: The number of numbers in a value.
    """

    def __init__(self, fields: Sequence[tuple[str, int | None]]) -> None:
        self._dtype = np.dtype([(f"f{n}", kind) for n, (kind, _) in enumerate(fields)])
        self._fixed = [(f"f{n}", held) for n, (_, held) in enumerate(fields) if held is not None]
        self._columns = [f"f{n}" for n, (_, held) in enumerate(fields) if held is None]
        self.width = self._dtype.itemsize
        self.column_count = len(self._columns)

    def encode(self, columns: Columns) -> pa.Array:
        """Encode columns of numbers; return a `binary` array with one element per value.

        Raises:
            SerializationError: A number is out of its field's range.
        """
        rows = self._rows(columns)
        return binary_array(rows.view(np.uint8), len(rows), self.width)

    def joined(self, columns: Columns, counts: npt.NDArray[np.int64]) -> list[bytes]:
        """Encode the values of several lists; return the bytes of each list.

        Args:
            columns: The values of all lists, one list after the other.
            counts: The number of values in each list.

        Raises:
            SerializationError: A number is out of its field's range.
        """
        data = self._rows(columns).tobytes()
        ends = (np.cumsum(counts) * self.width).tolist()
        return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    def divided(self, data: Sequence[bytes]) -> tuple[npt.NDArray[np.int64], Columns]:
        """Decode the result of `joined`; return the list number of each value, and the values.

        Raises:
            DeserializationError: The bytes of a list are not a multiple of `width`, or a length
                field is wrong.
        """
        sizes = np.fromiter(map(len, data), np.int64, len(data))
        wrong = np.flatnonzero(sizes % self.width)
        if len(wrong):
            piece = data[wrong[0]]
            raise DeserializationError(
                f"expected a multiple of {self.width} bytes, got {len(piece)}: {piece[:40]!r}"
            )
        return np.repeat(np.arange(len(data)), sizes // self.width), self._columns_of(
            b"".join(data)
        )

    def decode(self, data: Sequence[bytes]) -> Columns:
        """Decode values; return one column for each number of a value.

        Raises:
            DeserializationError: A value does not have `width` bytes, or a length field is wrong.
        """
        joined = b"".join(data)
        if len(joined) != self.width * len(data) or any(len(d) != self.width for d in data):
            wrong = next(item for item in data if len(item) != self.width)
            raise DeserializationError(
                f"expected values of {self.width} bytes, got {len(wrong)}: {wrong[:40]!r}"
            )
        return self._columns_of(joined)

    def _rows(self, columns: Columns) -> npt.NDArray[Any]:
        rows = np.empty(len(columns[0]), self._dtype)
        for name, held in self._fixed:
            rows[name] = held
        for name, column in zip(self._columns, columns, strict=True):
            rows[name] = _in_range(column, self._dtype[name])
        return rows

    def _columns_of(self, data: bytes) -> Columns:
        rows = np.frombuffer(data, self._dtype)
        for name, held in self._fixed:
            wrong = rows[name][rows[name] != held]
            if len(wrong):
                raise DeserializationError(
                    f"expected {held} as the length of a tuple's element, got {wrong[0]}"
                )
        return tuple(_native(rows[name]) for name in self._columns)


def fixed_layout(serde: Serde[Any]) -> FixedLayout | None:
    """Return the layout of a serde's values, or None if they vary in width.

    Serdes of numbers have a layout, and so do serdes of tuples and stamped values of numbers. The
    column of timestamps comes before the columns of their values.
    """
    fields = list(_fields(serde))
    return None if ("", None) in fields else FixedLayout(fields)


def span_layout(serde: Serde[Any]) -> FixedLayout | None:
    """Return the layout of a span (start, end, value) of a `SpansSerde`, given the value's serde.

    Returns None if the values vary in width.
    """
    return _timed_layout(serde, 2)


def slice_layout(serde: Serde[Any]) -> FixedLayout | None:
    """Return the layout of a slice (time, value) of a sliding store, given the value's serde.

    Returns None if the values vary in width.
    """
    return _timed_layout(serde, 1)


def _timed_layout(serde: Serde[Any], times: int) -> FixedLayout | None:
    layout = fixed_layout(serde)
    if layout is None:
        return None
    head: list[tuple[str, int | None]] = [(_LENGTH, 8 * times + layout.width)]
    return FixedLayout([*head, *[(">i8", None)] * times, *_fields(serde)])


def _fields(serde: Serde[Any]) -> Iterator[tuple[str, int | None]]:
    """Yield the numpy type of each field of a serde's values, and the field's content.

    The content is None unless it is constant. The type is empty for a field of variable width.
    """
    if isinstance(serde, StampedSerde):
        yield ">i8", None
        yield from _fields(serde.parts[0])
    elif isinstance(serde, TupleSerde):
        for part in serde.parts:
            inner = list(_fields(part))
            width = sum(np.dtype(kind).itemsize for kind, _ in inner if kind)
            yield _LENGTH, width
            yield from inner
    else:
        yield _NUMBERS.get(serde, ""), None


def _in_range(column: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the column if the field can hold its numbers; else raise `SerializationError`."""
    if kind.kind == "i" and len(column) and (column.dtype.kind == "O" or kind.itemsize < 8):
        limits = np.iinfo(kind)
        low, high = int(column.min()), int(column.max())
        if low < limits.min or high > limits.max:
            wrong = low if low < limits.min else high
            raise SerializationError(f"expected int{8 * kind.itemsize}, got int: {wrong}")
    return column


def _native(column: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return column.astype(column.dtype.newbyteorder("="))
