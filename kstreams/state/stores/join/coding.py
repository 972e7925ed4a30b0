"""The encoding of a join store's rows."""

from __future__ import annotations

import struct
from itertools import accumulate
from typing import Any, Final

from typing_extensions import override

from kstreams.errors import DeserializationError, SerializationError
from kstreams.record import Headers
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.serde.sequences import divided, joined
from kstreams.state.stores.kept import header_pieces, headers_of_pieces

__all__ = (
    "BLOCK",
    "BLOCKS",
    "CLOCKS",
    "ELEMENT",
    "OPEN",
    "ROW",
    "ROW_HEAD",
    "SETTLED",
    "SETUP",
    "WAITING",
    "Element",
    "JoinKeySerde",
    "JoinRowSerde",
    "read_headers",
    "row_prefix",
    "write_headers",
)

NUMBERS, ROW, OPEN, BLOCK = b"\x00", b"\x01", b"\x02", b"\x03"
"""The first bytes of encoded keys: for the store's numbers, for rows, for the entries of waiting
records in the order of closing, and for blocks.
"""

SETUP: Final = (0, 0)
"""The key of the row that holds the `Setup` of the store."""
CLOCKS: Final = (0, 1)
"""The key of the row that holds the `Clocks` of the store."""
BLOCKS: Final = (0, 2)
"""The key of the row that holds the `RowLimits`; it exists if the store may have blocks."""

Element = tuple[int, int, int, Any]
"""Time (ms), number, fate (`SETTLED` or `WAITING`) and value of a record."""

SETTLED, WAITING = 0, 1
"""The fates of records, as stored.

A settled record has found a partner, or is never forwarded without a partner. A waiting record is
forwarded without a partner unless it finds one in time.
"""

ROW_HEAD = struct.Struct(">BII")
"""The side, the number of further chunks, and the number of elements in the row."""
ELEMENT = struct.Struct(">qqBI")
"""The time, number and fate of an element, and the number of bytes of its value."""
_HEADERS = b"\x04"
"""The first byte of headers; rows begin with 0 or 1, numbers with 2, blocks with 3 or 5."""
_CHUNK = struct.Struct(">I")
_BOUNDS = struct.Struct(">qq")


def row_prefix(side: int, bucket: int) -> bytes:
    """Return the common prefix of the encoded keys of a side's rows in a time bucket.

    The prefixes of one side are in the order of their buckets.
    """
    return ROW + bytes((side,)) + sortable_int64(bucket)


def write_headers(headers: Headers) -> bytes:
    """Return the bytes of the headers of a waiting record; empty without headers."""
    return _HEADERS + joined(header_pieces(headers)) if headers else b""


def read_headers(data: bytes) -> Headers:
    """Read the bytes of `write_headers`.

    Raises:
        DeserializationError: The bytes are not encoded headers, or are truncated.
    """
    if not data:
        return ()
    if data[:1] != _HEADERS:
        raise DeserializationError(
            f"expected the encoded headers of a buffered record, got {data[:40]!r}"
        )
    try:
        return headers_of_pieces(divided(data[1:]))
    except ValueError as exc:
        raise DeserializationError(
            f"the encoded headers of a buffered record are truncated: {data[:40]!r}"
        ) from exc


class JoinKeySerde(CompositeSerde[Any]):
    """The serde of all keys of a join store, which are tuples; most tuples sort like their bytes.

    `(1, side, bucket, chunk, key)` is the key of a row, `(2, close, side, time, number, key)` the
    key of the `Open` entry of a waiting record, and `(3, side, slot, number)` the key of a block.
    `SETUP`, `CLOCKS` and `BLOCKS` are the keys of tuples of numbers.

    Args:
        key: Serde of the keys.
    """

    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("join-key", key)
        self._key = key.ordered

    @override
    def serialize(self, value: tuple[Any, ...]) -> bytes:
        if value[0] == 1:
            _, side, bucket, chunk, key = value
            place = row_prefix(side, bucket), _CHUNK.pack(chunk)
            return b"".join((*place, self._key.serialize(key)))
        if value[0] == 2:
            _, close, side, time, number, key = value
            times = sortable_int64(close), bytes((side,)), sortable_int64(time)
            return b"".join((OPEN, *times, sortable_int64(number), self._key.serialize(key)))
        if value[0] == 3:
            _, side, slot, number = value
            return b"".join((BLOCK, bytes((side,)), sortable_int64(slot), sortable_int64(number)))
        return NUMBERS + bytes((value[1],))

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        tag = data[:1]
        if tag == ROW and len(data) >= 14:
            chunk = int.from_bytes(data[10:14], "big")
            return 1, data[1], read_int64(data, 2), chunk, self._key.deserialize(data[14:])
        if tag == OPEN and len(data) >= 26:
            times = read_int64(data, 1), data[9], read_int64(data, 10), read_int64(data, 18)
            return (2, *times, self._key.deserialize(data[26:]))
        if tag == BLOCK and len(data) == 18 and data[1] < 2:
            return 3, data[1], read_int64(data, 2), read_int64(data, 10)
        if tag != NUMBERS or len(data) != 2:
            raise DeserializationError(f"expected the key of a join store's row, got {data[:40]!r}")
        return 0, data[1]


class JoinRowSerde(CompositeSerde[Any]):
    """The serde of a join store's values: rows, headers of waiting records, numbers or blocks.

    A row is `(side, bounds, elements)`: `bounds` has the first and last time of each further chunk,
    and `elements` has the row's records in the order of arrival. In encoded rows, the time, number
    and fate of all elements precede all values, so that many rows can be read as columns.

    Args:
        left: Serde of the left values.
        right: Serde of the right values.
    """

    type_token = tuple

    def __init__(self, left: Serde[Any], right: Serde[Any]) -> None:
        super().__init__("join-row", left, right)
        self._write = left.serialize, right.serialize
        self._read = left.deserialize, right.deserialize

    @override
    def serialize(self, value: tuple[Any, ...] | bytes) -> bytes:
        if not value:
            return b""
        if isinstance(value, bytes):
            return value
        if isinstance(value[0], tuple):
            return write_headers(value)
        try:
            if not isinstance(value[1], tuple):
                return b"\x02" + struct.pack(f">{len(value)}q", *value)
            side, bounds, elements = value
            contents = [self._write[side](element[3]) for element in elements]
            pieces = [ROW_HEAD.pack(side, len(bounds), len(elements))]
            pieces += [_BOUNDS.pack(*pair) for pair in bounds]
            for (time, number, fate, _), content in zip(elements, contents, strict=True):
                pieces.append(ELEMENT.pack(time, number, fate, len(content)))
            return b"".join((*pieces, *contents))
        except struct.error as exc:
            raise SerializationError(
                f"expected a row of a join store with int64 times, got {value!r}"
            ) from exc

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...] | bytes:
        if not data:
            return ()
        if data[0] in (3, 5):
            return data  # `read_block` reads it
        if data[:1] == _HEADERS:
            return read_headers(data)
        try:
            if data[0] == 2:
                return struct.unpack_from(f">{len(data) // 8}q", data, 1)
            side, chunks, count = ROW_HEAD.unpack_from(data)
            end = ROW_HEAD.size + 16 * chunks
            bounds = tuple(_BOUNDS.iter_unpack(data[ROW_HEAD.size : end]))
            heads = list(ELEMENT.iter_unpack(data[end : end + ELEMENT.size * count]))
            places = list(
                accumulate((head[3] for head in heads), initial=end + ELEMENT.size * count)
            )
            if len(bounds) != chunks or len(heads) != count or places[-1] != len(data):
                raise DeserializationError(f"a row of a join store is truncated: {data[:40]!r}")
            read = self._read[side]
            return (
                side,
                bounds,
                tuple(
                    (head[0], head[1], head[2], read(data[place : place + head[3]]))
                    for head, place in zip(heads, places, strict=False)
                ),
            )
        except (struct.error, IndexError) as exc:
            raise DeserializationError(
                f"a row of a join store is truncated: {data[:40]!r}"
            ) from exc
