"""Logical types: dates, times, decimals and UUIDs, singly and by columns.

An unknown logical type, or one on the wrong Avro type, is ignored, as the specification requires.
"""

from __future__ import annotations

import decimal
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, ClassVar
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from kstreams.serde import objects_of
from kstreams_avro.datum import Datum, Malformed

__all__ = (
    "BytesUuid",
    "Conversion",
    "DayTime",
    "Days",
    "Decimals",
    "TextUuid",
    "Timestamp",
    "conversion_of",
)

_UTC = timezone.utc
_EPOCH = datetime(1970, 1, 1, tzinfo=_UTC)
_LOCAL_EPOCH = datetime(1970, 1, 1)  # of local times, which have no zone
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = 1 - _EPOCH_DAY, date.max.toordinal() - _EPOCH_DAY
_DAY_MICROS = 86_400_000_000
_UUID_FORM = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_IS_UUID = re.compile(_UUID_FORM).fullmatch
_MICROS = {"ms": 1000, "us": 1}
_UNITS = {"millis": "ms", "micros": "us"}
_DIGITS = 38
"""The maximum number of digits of Arrow's decimals of 128 bits."""


class Conversion(ABC):
    """A logical type of one underlying Avro type.

    Attributes:
        name: The name of the logical type.
        kind: The Python type of its values.
        arrow: The Arrow type of its columns; None if it has no columns.
        properties: The additional properties in the schema, such as precision and scale.
    """

    name: str
    kind: ClassVar[type]
    arrow: pa.DataType | None
    properties: Mapping[str, int] = {}

    @abstractmethod
    def read(self, raw: Datum) -> Datum:
        """Convert a raw number, text or bytes to a value; raises `Malformed`."""

    @abstractmethod
    def write(self, value: Datum) -> Datum:
        """Return the number, text or bytes of a value; raises `Malformed`."""

    @abstractmethod
    def column(self, raw: pa.Array) -> pa.Array:
        """Convert a raw column without nulls to the type `arrow`; raises `Malformed`."""

    @abstractmethod
    def objects(self, column: pa.Array) -> list[Any]:
        """Return the Python values of a column without nulls."""


def conversion_of(kind: str, schema: Mapping[str, Any]) -> Conversion | None:
    """Return the logical type of a schema; None if the schema has no known logical type.

    Args:
        kind: `int`, `long`, `bytes`, `string` or `fixed`.
        schema: The schema.

    Raises:
        ValueError: The precision or scale of a decimal is invalid.
    """
    name = str(schema.get("logicalType", ""))
    match kind, name:
        case "int", "date":
            return Days()
        case ("int", "time-millis") | ("long", "time-micros"):
            return DayTime(_UNITS[name.rpartition("-")[2]])
        case "long", (
            "timestamp-millis"
            | "timestamp-micros"
            | "local-timestamp-millis"
            | "local-timestamp-micros"
        ):
            return Timestamp(_UNITS[name.rpartition("-")[2]], local=name.startswith("local"))
        case (("bytes" | "fixed"), "decimal"):
            return Decimals(schema.get("precision"), schema.get("scale", 0), schema.get("size"))
        case "string", "uuid":
            return TextUuid()
        case "fixed", "uuid" if schema.get("size") == 16:
            return BytesUuid()
        case _:
            return None


class Timestamp(Conversion):
    """Timestamps: an instant is a `datetime` in UTC, a local time a `datetime` without time zone.

    Times are rounded down to the unit, as in Java.
    """

    kind = datetime

    def __init__(self, unit: str, *, local: bool) -> None:
        self.name = f"{'local-' if local else ''}timestamp-{'millis' if unit == 'ms' else 'micros'}"
        self.arrow = pa.timestamp(unit, None if local else "UTC")
        self._unit = unit
        self._local = local
        self._micros = _MICROS[unit]
        self._epoch = _LOCAL_EPOCH if local else _EPOCH
        self._first = _FIRST_DAY * _DAY_MICROS // self._micros
        self._last = ((_LAST_DAY + 1) * _DAY_MICROS - 1) // self._micros

    def read(self, raw: int) -> datetime:
        """Return the time; raises `Malformed` for years outside of 1 to 9999."""
        if not self._first <= raw <= self._last:
            raise Malformed(f"{raw} is not a {self.name} of the years 1 to 9999")
        return self._epoch + timedelta(microseconds=raw * self._micros)

    def write(self, value: object) -> int:
        """Return the number; an instant must have a time zone, a local time must not."""
        if not isinstance(value, datetime):
            raise Malformed(f"expected a datetime, got {type(value).__name__}: {value!r:.40}")
        if (value.utcoffset() is None) is not self._local:
            wanted = "without a time zone" if self._local else "with a time zone"
            raise Malformed(f"expected a datetime {wanted}, got {value!r}")
        return (value - self._epoch) // timedelta(microseconds=self._micros)

    def column(self, raw: pa.Array) -> pa.Array:
        """Check that years are 1 to 9999, and cast to `arrow`."""
        _check_range(raw, self._first, self._last)
        return raw.view(self.arrow)

    def objects(self, column: pa.Array) -> list[datetime]:
        """Return the times of a column, converted by numpy, which has no time zones."""
        numbers = column.view(pa.int64()).to_numpy(zero_copy_only=False)
        times: list[datetime] = numbers.view(f"datetime64[{self._unit}]").tolist()
        return times if self._local else [each.replace(tzinfo=_UTC) for each in times]


class Days(Conversion):
    """The logical type `date`, whose values are Python's `date`."""

    name = "date"
    kind = date
    arrow = pa.date32()

    def read(self, raw: int) -> date:
        """Return the date; raises `Malformed` for years outside of 1 to 9999."""
        if not _FIRST_DAY <= raw <= _LAST_DAY:
            raise Malformed(f"{raw} is not a date of the years 1 to 9999")
        return date.fromordinal(raw + _EPOCH_DAY)

    def write(self, value: object) -> int:
        """Return the number of the day; a datetime is rejected."""
        if not isinstance(value, date) or isinstance(value, datetime):
            raise Malformed(f"expected a date, got {type(value).__name__}: {value!r:.40}")
        return value.toordinal() - _EPOCH_DAY

    def column(self, raw: pa.Array) -> pa.Array:
        """Check that years are 1 to 9999, and cast to `arrow`."""
        _check_range(raw, _FIRST_DAY, _LAST_DAY)
        return raw.view(pa.date32())

    @override
    def objects(self, column: pa.Array) -> list[date]:
        numbers = column.view(pa.int32()).to_numpy(zero_copy_only=False)
        days: list[date] = numbers.astype("datetime64[D]").tolist()
        return days


class DayTime(Conversion):
    """Times of day: Python's `time` without a time zone, rounded down to the unit."""

    kind = time

    def __init__(self, unit: str) -> None:
        self.name = "time-millis" if unit == "ms" else "time-micros"
        self.arrow = pa.time32("ms") if unit == "ms" else pa.time64("us")
        self._raw = pa.int32() if unit == "ms" else pa.int64()
        self._micros = _MICROS[unit]

    def read(self, raw: int) -> time:
        """Return the time; raises `Malformed` outside of the 24 hours of a day."""
        micros = raw * self._micros
        if not 0 <= micros < _DAY_MICROS:
            raise Malformed(
                f"expected a time of day ({self.name}) from 0 to "
                f"{_DAY_MICROS // self._micros - 1}, got {raw}"
            )
        return (_LOCAL_EPOCH + timedelta(microseconds=micros)).time()

    def write(self, value: object) -> int:
        """Return the number; a time with a time zone is rejected."""
        if not isinstance(value, time) or value.tzinfo is not None:
            raise Malformed(f"expected a time without a zone, got {value!r:.60}")
        seconds = (value.hour * 60 + value.minute) * 60 + value.second
        return (seconds * 1_000_000 + value.microsecond) // self._micros

    def column(self, raw: pa.Array) -> pa.Array:
        """Check that times are within a day, and cast to `arrow`."""
        _check_range(raw, 0, _DAY_MICROS // self._micros - 1)
        return raw.view(self.arrow)

    @override
    def objects(self, column: pa.Array) -> list[time]:
        return list(map(self.read, objects_of(column.view(self._raw))))


class Decimals(Conversion):
    """Decimals of a fixed scale: the digits are written as a big-endian number."""

    name = "decimal"
    kind = decimal.Decimal

    def __init__(self, precision: object, scale: object, size: object) -> None:
        if not isinstance(precision, int) or precision < 1:
            raise ValueError(f"a decimal's precision is {precision!r}, and must be 1 or more")
        if not isinstance(scale, int) or not 0 <= scale <= precision:
            raise ValueError(f"a decimal's scale is {scale!r}, and must be 0 to {precision}")
        self.properties = {"precision": precision, "scale": scale}
        self.arrow = pa.decimal128(precision, scale) if precision <= _DIGITS else None
        self._size = size if isinstance(size, int) else None
        self._scale = scale
        self._limit = 10**precision
        self._text = f"{precision} digits, {scale} of them after the point"
        self._context = decimal.Context(prec=precision + 1)

    def read(self, raw: bytes) -> decimal.Decimal:
        """Return the number; more digits than the schema allows are rejected."""
        number = int.from_bytes(raw, "big", signed=True)
        if not raw or not -self._limit < number < self._limit:
            raise Malformed(f"{raw[:40]!r} is not a decimal of {self._text}")
        return decimal.Decimal(number).scaleb(-self._scale, self._context)

    def write(self, value: object) -> bytes:
        """Return the bytes; a number that would be rounded is rejected."""
        if not isinstance(value, decimal.Decimal):
            raise Malformed(f"expected a Decimal, got {type(value).__name__}: {value!r:.40}")
        number = self._unscaled(value)
        if number is None or not -self._limit < number < self._limit:
            raise Malformed(f"{value} is not a decimal of {self._text}")
        length = self._size or (number + (number < 0)).bit_length() // 8 + 1
        return number.to_bytes(length, "big", signed=True)

    def _unscaled(self, value: decimal.Decimal) -> int | None:
        sign, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int) or exponent + len(digits) > len(str(self._limit)):
            return None  # no number; or too large a one, which zero too may pretend to be
        shift = exponent + self._scale
        number = int("".join(map(str, digits))) if digits else 0
        if shift >= 0:
            number *= 10**shift
        else:
            number, rest = divmod(number, 10**-shift) if -shift <= len(digits) else (0, number)
            if rest:
                return None
        return -number if sign else number

    def column(self, raw: pa.Array) -> pa.Array:
        """Reverse the bytes to little-endian, and extend them to 16 bytes by their sign."""
        data = raw.cast(pa.binary())
        offsets = np.frombuffer(data.buffers()[1], np.int32)[data.offset :][: len(data) + 1]
        lengths = np.diff(offsets)
        if len(data) and not (lengths.min() >= 1 and lengths.max() <= 16):
            raise Malformed("the bytes of a decimal are empty, or more than 16")
        held = np.frombuffer(data.buffers()[2] or b"", np.uint8)
        places = offsets[1:, None] - 1 - np.arange(16)  # from the last byte to the first
        inside = places >= offsets[:-1, None]
        tops = held[offsets[:-1]] if len(data) else held
        filling = np.where(tops >= 128, np.uint8(255), np.uint8(0))[:, None]
        digits = np.where(inside, held[np.maximum(places, 0)], filling) if len(data) else held
        buffers = [None, pa.py_buffer(np.ascontiguousarray(digits))]
        column = pa.Array.from_buffers(self.arrow, len(data), buffers, 0)
        self._check_digits(digits)
        return column

    def _check_digits(self, digits: npt.NDArray[np.uint8]) -> None:
        """Reject numbers with more digits than the precision."""
        halves = digits.reshape(-1, 16).view("<i8")
        low, high = halves[:, 0].view("<u8"), halves[:, 1]
        bound_high, bound_low = divmod(self._limit - 1, 1 << 64)
        wide = (high > bound_high) | ((high == bound_high) & (low > np.uint64(bound_low)))
        floor_high, floor_low = divmod(1 - self._limit, 1 << 64)
        wide |= (high < floor_high) | ((high == floor_high) & (low < np.uint64(floor_low)))
        if wide.any():
            raise Malformed(f"a decimal has more digits than the schema allows: {self._text}")

    @override
    def objects(self, column: pa.Array) -> list[decimal.Decimal]:
        values: list[decimal.Decimal] = column.to_pylist()
        return values


class TextUuid(Conversion):
    """UUIDs that are written as 36 characters."""

    name = "uuid"
    kind = UUID
    arrow = pa.string()

    def read(self, raw: str) -> UUID:
        """Return the UUID; any other text form of a UUID is rejected."""
        if _IS_UUID(raw) is None:
            raise Malformed(f"{raw[:40]!r} is not a UUID")
        return UUID(raw)

    @override
    def write(self, value: object) -> str:
        return str(_checked_uuid(value))

    def column(self, raw: pa.Array) -> pa.Array:
        """Check that each text has the form of a UUID."""
        if not pc.all(pc.match_substring_regex(raw, f"^{_UUID_FORM}$"), min_count=0).as_py():
            raise Malformed("a text is not a UUID")
        if len(raw) and pc.max(pc.binary_length(raw)).as_py() != 36:
            raise Malformed("a text is not a UUID")  # `$` lets a line's end behind it through
        return raw

    @override
    def objects(self, column: pa.Array) -> list[UUID]:
        return list(map(UUID, objects_of(column)))


class BytesUuid(Conversion):
    """UUIDs that are written as 16 bytes."""

    name = "uuid"
    kind = UUID
    arrow = pa.binary(16)

    @override
    def read(self, raw: bytes) -> UUID:
        return UUID(bytes=raw)

    @override
    def write(self, value: object) -> bytes:
        return _checked_uuid(value).bytes

    @override
    def column(self, raw: pa.Array) -> pa.Array:
        return raw

    @override
    def objects(self, column: pa.Array) -> list[UUID]:
        return [UUID(bytes=each) for each in objects_of(column.cast(pa.binary()))]


def _checked_uuid(value: object) -> UUID:
    if not isinstance(value, UUID):
        raise Malformed(f"expected a UUID, got {type(value).__name__}: {value!r:.40}")
    return value


def _check_range(numbers: pa.Array, first: int, last: int) -> None:
    if not len(numbers):
        return
    values = numbers.to_numpy(zero_copy_only=False)
    if values.min() < first or values.max() > last:
        raise Malformed(f"a date or time is outside of its range, {first} to {last}")
