"""Serdes of windowed keys, in the format of Kafka Streams."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from kstreams._types import Ints, K
from kstreams.errors import DeserializationError, SerializationError
from kstreams.parameters import Parameters
from kstreams.serde.base import Serde
from kstreams.serde.binary import binary_array, has_all, int64_column
from kstreams.serde.windowed_key import WindowedKeySerde, without_grace
from kstreams.windowed import Windowed
from kstreams.windows.keys.windowed_type import WindowedType

__all__ = ("SpanWindowedSerde", "TimeWindowedSerde")


_ONE = struct.Struct(">q")
_TWO = struct.Struct(">qq")


class TimeWindowedSerde(WindowedKeySerde[Windowed[K]]):
    """Encodes the key bytes, then the window's start in 8 bytes, big-endian.

    Args:
        key: The serde of the keys.
        windows: The windows, which determine the end; serdes with different windows are not equal.

    Source: `org.apache.kafka.streams.kstream.TimeWindowedSerializer`.
    """

    def __init__(self, key: Serde[K], windows: Any) -> None:  # noqa: ANN401  # any kind
        super().__init__("time-windowed", key, windows)
        self.tail_bytes = _ONE.size + key.tail_bytes
        self._key = key

    @property
    def parameters(self) -> Parameters:
        """Return the parameters of the windows, except grace, which the encoding does not use."""
        return without_grace(self.windows)

    def serialize(self, value: Windowed[K]) -> bytes:
        """Encode a windowed key; raises `SerializationError` if there is no such window."""
        start, end = _bounds(value)
        if end != self._end(start):
            raise SerializationError(
                f"{value} is not a window of {self.windows}: one that starts at {start} ms ends "
                f"at {self._end(start)} ms"
            )
        return self._key.serialize(value.key) + _packed(_ONE, start)

    def serialize_many(self, values: Sequence[Windowed[K] | None]) -> pa.Array:
        """Encode many windowed keys at once, or one by one if that fails, to report the cause."""
        try:
            bounds = {(v.start_ms, v.end_ms) for v in values if v is not None}
        except AttributeError:
            return super().serialize_many(values)
        if any(end != self._end(start) for start, end in bounds):
            return super().serialize_many(values)
        starts = int64_column([0 if v is None else v.start_ms for v in values])
        if starts is None:
            return super().serialize_many(values)
        keys = self._key.serialize_many([None if v is None else v.key for v in values])
        if not has_all(keys, values):
            return super().serialize_many(values)
        return _appended(keys, starts)

    def deserialize(self, data: bytes) -> Windowed[K]:
        """Decode a windowed key; raises `DeserializationError` for fewer than 8 bytes."""
        (start,) = _unpacked(_ONE, data)
        return Windowed(self._key.deserialize(data[:-8]), start, self._end(start))

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Encode a column of windowed keys; checks their ends unless it is a `WindowedType`."""
        if not isinstance(column.type, WindowedType):
            return super().from_arrow(column)
        key, start, _ = column.storage.flatten()
        return _appended(self._key.from_arrow(key), start.to_numpy())

    def _end(self, start_ms: int) -> int:
        """Return the end (ms) of the window with the given start."""
        end: int = self.windows.end(start_ms)
        return end

    def __eq__(self, other: object) -> bool:
        """Compare key serdes and windows."""
        return super().__eq__(other) and self.windows == getattr(other, "windows", None)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments."""
        return type(self), (self._key, self.windows)


class SpanWindowedSerde(WindowedKeySerde[Windowed[K]]):
    """Encodes the key bytes and both bounds of the window, 8 bytes each, big-endian.

    For sessions, the end precedes the start.

    Args:
        key: Serde of the keys.
        kind: `session` or `calendar`.
        windows: The windows, for messages.

    Source: `org.apache.kafka.streams.kstream.SessionWindowedSerializer`.
    """

    def __init__(self, key: Serde[K], kind: str, windows: object = None) -> None:
        super().__init__(f"{kind}-windowed", key, windows)
        self.tail_bytes = _TWO.size + key.tail_bytes
        self._key = key
        self._kind = kind

    def serialize(self, value: Windowed[K]) -> bytes:
        """Encode a windowed key; raises `SerializationError` for other objects."""
        bounds = _bounds(value)
        if self._kind == "session":
            bounds = bounds[::-1]
        return self._key.serialize(value.key) + _packed(_TWO, *bounds)

    def serialize_many(self, values: Sequence[Windowed[K] | None]) -> pa.Array:
        """Encode many windowed keys at once, or one by one if that fails, to report the cause."""
        try:
            starts = int64_column([0 if v is None else v.start_ms for v in values])
            ends = int64_column([0 if v is None else v.end_ms for v in values])
        except AttributeError:
            return super().serialize_many(values)
        if starts is None or ends is None:
            return super().serialize_many(values)
        keys = self._key.serialize_many([None if v is None else v.key for v in values])
        if not has_all(keys, values):
            return super().serialize_many(values)
        return _appended(keys, *self._in_order(starts, ends))

    def deserialize(self, data: bytes) -> Windowed[K]:
        """Decode a windowed key; raises `DeserializationError` for fewer than 16 bytes."""
        start, end = _unpacked(_TWO, data)
        if self._kind == "session":
            start, end = end, start
        return Windowed(self._key.deserialize(data[:-16]), start, end)

    def from_arrow(self, column: pa.Array) -> pa.Array:
        """Encode a column of windowed keys, one by one if it is not of type `WindowedType`."""
        if not isinstance(column.type, WindowedType):
            return super().from_arrow(column)
        key, start, end = column.storage.flatten()
        bounds = self._in_order(start.to_numpy(), end.to_numpy())
        return _appended(self._key.from_arrow(key), *bounds)

    @override
    def writes_windows_of(self, other: WindowedKeySerde[Any]) -> bool:
        return True  # the encoding has both bounds

    def _in_order(self, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        return (ends, starts) if self._kind == "session" else (starts, ends)

    def __eq__(self, other: object) -> bool:
        """Compare key serdes and kinds."""
        return super().__eq__(other) and self.name == getattr(other, "name", None)

    def __hash__(self) -> int:
        """Hash the name."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the constructor's arguments."""
        return type(self), (self._key, self._kind, self.windows)


def _bounds(value: Windowed[Any]) -> tuple[int, int]:
    try:
        return value.start_ms, value.end_ms
    except AttributeError as exc:
        raise SerializationError(f"expected a windowed key, got {value!r}") from exc


def _packed(form: struct.Struct, *bounds: int) -> bytes:
    try:
        return form.pack(*bounds)
    except struct.error as exc:
        raise SerializationError(f"expected int64 bounds of a window, got {bounds}") from exc


def _unpacked(form: struct.Struct, data: bytes) -> tuple[int, ...]:
    try:
        return form.unpack(data[-form.size :])
    except struct.error as exc:
        raise DeserializationError(
            f"a windowed key is cut short: expected {form.size} bytes or more, got {data[:40]!r}"
        ) from exc


def _appended(keys: pa.Array, *numbers: Ints) -> pa.Array:
    """Append numbers, 8 bytes each, big-endian, to encoded keys."""
    count, width = len(keys), 8 * len(numbers)
    rows = np.empty((count, len(numbers)), ">i8")
    for place, column in enumerate(numbers):
        rows[:, place] = column
    tails = binary_array(rows.reshape(-1).view(np.uint8), count, width)
    return pc.binary_join_element_wise(keys, tails, pa.scalar(b"", pa.binary()))
