"""Steps of null, bools, numbers, text, bytes and symbols, and their logical types."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from typing_extensions import override

from kstreams_avro.conversions import Conversion
from kstreams_avro.datum import Datum, Malformed
from kstreams_avro.nodes import Check
from kstreams_avro.steps.cursor import Cursor
from kstreams_avro.steps.step import Read, Step, read_long

__all__ = (
    "BooleanStep",
    "EnumStep",
    "FixedStep",
    "FloatStep",
    "IntegerStep",
    "NullStep",
    "PiecesStep",
    "float32",
)

_WIDTHS = {"float": ("<f4", struct.Struct("<f")), "double": ("<f8", struct.Struct("<d"))}
_INTEGERS = {"int": pa.int32(), "long": pa.int64()}
_FLOATS = {"float": pa.float32(), "double": pa.float64()}
_INT_MAX = (1 << 31) - 1
_INT_MIN = -(1 << 31)


class NullStep(Step):
    """Reads null, which takes no bytes.

    Args:
        arrow: The type of the columns; in a union, the type of the other branch.
    """

    least = 0

    def __init__(self, arrow: pa.DataType | None) -> None:
        self.arrow = arrow

    @staticmethod
    def read(_: bytes, place: int, __: int) -> tuple[None, int]:
        """Return None and the unchanged offset, because null takes no bytes."""
        return None, place

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        return pa.nulls(len(cursor), self.arrow)

    def skip(self, cursor: Cursor) -> None:
        """Do nothing, because null takes no bytes."""


class BooleanStep(Step):
    """Reads booleans: one byte, 0 or 1."""

    least = 1
    arrow = pa.bool_()

    @staticmethod
    def read(data: bytes, place: int, _: int) -> tuple[bool, int]:
        """Return the bool at an offset, and the offset after it.

        Raises:
            Malformed: The byte is neither 0 nor 1.
        """
        octet = data[place]
        if octet > 1:
            raise Malformed(f"expected 0 or 1 as the byte of a boolean, got {octet}")
        return octet == 1, place + 1

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        octets = cursor.octets()
        if (octets > 1).any():
            raise Malformed("expected 0 or 1 as the byte of a boolean")
        return pa.array(octets.view(np.bool_))


class IntegerStep(Step):
    """Reads an `int` or a `long`, unchanged or as a wider number.

    Args:
        written: The writer's type, `int` or `long`.
        wanted: The reader's type: `int`, `long`, `float` or `double`.
        conversion: The reader's logical type.
        check: Rejects values against a constraint of the Python type; None without constraints.
    """

    least = 1

    def __init__(
        self, written: str, wanted: str, conversion: Conversion | None, check: Check = None
    ) -> None:
        self._bounded = written == "int"
        self._conversion = conversion
        self._raw = _INTEGERS.get(wanted) or _FLOATS[wanted]
        self.arrow = self._raw if conversion is None else conversion.arrow
        if check is not None:
            self.arrow = None
        self.read = self._reader(wanted, check)

    def _reader(self, wanted: str, check: Check) -> Read:
        conversion = self._conversion
        bounded = _read_int if self._bounded else read_long
        if wanted in _FLOATS:
            make: Any = float32 if wanted == "float" else float
        elif conversion is not None:
            make = conversion.read
        else:
            make = check
        return bounded if make is None else _made(bounded, make, check)

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        numbers = cursor.longs()
        if (
            self._bounded
            and len(numbers)
            and (numbers.min() < _INT_MIN or numbers.max() > _INT_MAX)
        ):
            raise Malformed("an int has more than 32 bits")
        if pa.types.is_float32(self._raw):
            numbers = numbers.astype(np.float64)  # as Python's numbers go
        raw = pa.array(numbers.astype(self._raw.to_pandas_dtype(), copy=False))
        return raw if self._conversion is None else self._conversion.column(raw)

    @override
    def skip(self, cursor: Cursor) -> None:
        cursor.longs()


def _read_int(data: bytes, place: int, _: int) -> tuple[int, int]:
    number, place = read_long(data, place)
    if not _INT_MIN <= number <= _INT_MAX:
        raise Malformed(f"an int has more than 32 bits: {number}")
    return number, place


def _made(read: Read, make: Callable[[Datum], Datum], check: Check) -> Read:
    """Return a function that reads a value with `read`, converts it with `make` and checks it."""
    if check is None or check is make:

        def reads(data: bytes, place: int, depth: int) -> tuple[Any, int]:
            raw, place = read(data, place, depth)
            return make(raw), place
    else:

        def reads(data: bytes, place: int, depth: int) -> tuple[Any, int]:
            raw, place = read(data, place, depth)
            return check(make(raw)), place

    return reads


def float32(number: float) -> float:
    """Round a number to 32 bits, the precision of `float`.

    Raises:
        OverflowError: The number exceeds the range of `float`.
    """
    rounded: float = _WIDTHS["float"][1].unpack(_WIDTHS["float"][1].pack(number))[0]
    return rounded


class FloatStep(Step):
    """Reads a `float` or a `double`, unchanged or as a `double`."""

    def __init__(self, written: str, wanted: str, check: Check = None) -> None:
        self._code, width = _WIDTHS[written]
        self._wanted = _FLOATS[wanted]
        self.arrow = None if check is not None else self._wanted
        self.least = size = width.size
        unpack = width.unpack_from

        def read(data: bytes, place: int, _: int) -> tuple[float, int]:
            if place + size > len(data):
                raise IndexError
            return unpack(data, place)[0], place + size

        self.read = read if check is None else _made(read, check, None)

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        return pa.array(cursor.numbers(self._code)).cast(self._wanted)

    @override
    def skip(self, cursor: Cursor) -> None:
        cursor.advance(self.least)


class PiecesStep(Step):
    """Reads bytes or text, encoded as a length and the bytes; either can be read as the other.

    Args:
        text: Whether to return text.
        conversion: The reader's logical type.
        check: Rejects values against a constraint of the Python type; None without constraints.
    """

    least = 1

    def __init__(self, *, text: bool, conversion: Conversion | None, check: Check = None) -> None:
        self._text = text
        self._conversion = conversion
        self.arrow = pa.string() if text else pa.binary()
        if conversion is not None:
            self.arrow = conversion.arrow
        if check is not None:
            self.arrow = None
        read = _read_text if text else _read_bytes
        make: Any = check if conversion is None else conversion.read
        self.read: Read = read if make is None else _made(read, make, check)

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        raw = cursor.pieces()
        if self._text:
            try:
                raw = raw.cast(pa.string())
            except pa.ArrowInvalid as exc:
                raise Malformed("a text is not UTF-8") from exc
        return raw if self._conversion is None else self._conversion.column(raw)

    @override
    def skip(self, cursor: Cursor) -> None:
        cursor.advance(cursor.longs())


def _read_bytes(data: bytes, place: int, _: int) -> tuple[bytes, int]:
    length = data[place]
    if length < 0x80 and not length & 1:  # most are: read here, without a call
        length >>= 1
        place += 1
    else:
        length, place = read_long(data, place)
    end = place + length
    if length < 0 or end > len(data):
        raise Malformed(f"expected a length of 0 to {len(data) - place} bytes, got {length}")
    return data[place:end], end


def _read_text(data: bytes, place: int, depth: int) -> tuple[str, int]:
    raw, place = _read_bytes(data, place, depth)
    try:
        return raw.decode(), place
    except UnicodeDecodeError as exc:
        raise Malformed(f"a text is not UTF-8: {exc}") from exc


class FixedStep(Step):
    """Reads a fixed number of bytes."""

    def __init__(self, size: int, conversion: Conversion | None) -> None:
        self.least = size
        self._conversion = conversion
        self.arrow = pa.binary(size) if conversion is None else conversion.arrow

        def read(data: bytes, place: int, _: int) -> tuple[bytes, int]:
            if place + size > len(data):
                raise IndexError
            return data[place : place + size], place + size

        self.read: Read = read if conversion is None else _made(read, conversion.read, None)

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        raw = cursor.fixed(self.least)
        return raw if self._conversion is None else self._conversion.column(raw)

    @override
    def skip(self, cursor: Cursor) -> None:
        cursor.advance(self.least)


class EnumStep(Step):
    """Reads a symbol of an enum, which is encoded as its number.

    Args:
        symbols: The reader's symbol for each symbol of the writer; None without one.
        members: The Python value of each symbol.
        written: The writer's symbols.
        check: Rejects values against a constraint of the Python type; None without constraints.
    """

    least = 1

    def __init__(
        self,
        symbols: Sequence[str | None],
        members: Sequence[Any],
        written: Sequence[str],
        check: Check = None,
    ) -> None:
        self._symbols = pa.array(symbols, pa.string())
        self.arrow = None if check is not None else pa.string()
        known = [symbol is not None for symbol in symbols]

        def read(data: bytes, place: int, _: int) -> tuple[Any, int]:
            number, place = read_long(data, place)
            if not 0 <= number < len(members):
                raise Malformed(f"expected an enum index of 0 to {len(members) - 1}, got {number}")
            if not known[number]:
                raise Malformed(
                    f"the reader's enum has no symbol {written[number]!r}, and no default"
                )
            return members[number], place

        self.read: Read = read if check is None else _made(read, check, None)

    @override
    def column(self, cursor: Cursor) -> pa.Array:
        numbers = cursor.longs()
        if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(self._symbols)):
            raise Malformed(
                f"expected enum indexes of 0 to {len(self._symbols) - 1}, got an "
                f"index outside of this range"
            )
        found = self._symbols.take(pa.array(numbers))
        if found.null_count:
            raise Malformed("the reader's enum lacks a symbol of the data, and has no default")
        return found

    @override
    def skip(self, cursor: Cursor) -> None:
        cursor.longs()
