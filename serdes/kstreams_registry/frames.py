"""The frames of Confluent's wire format, which identify the schema of bytes.

A frame is the byte 0 and an id (u32, big-endian), or in headers the byte 1 and a GUID of 16 bytes.
For protobuf, the indexes of the message in its file follow: their count and the indexes, as zigzag
varints; the indexes `[0]`, the first message, are encoded as the single byte 0.

Source: `io.confluent.kafka.serializers.schema.id.SchemaId`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ("Frame", "Frames", "frame_bytes", "frames_of", "index_bytes", "parse_frame")

_ID, _GUID = 0, 1
_HEADS = {_ID: 5, _GUID: 17}
_MOST_INDEXES = 1_000
_LONGEST_VARINT = 5
_ROUNDS = 32
"""The number of different frames of a column to search at once; other frames are read row by row.
"""


@dataclass(frozen=True)
class Frame:
    """A parsed frame.

    Attributes:
        data: The bytes of the frame.
        name: The id of the schema, or its GUID in 16 bytes.
        indexes: The indexes of the message; only for protobuf.
    """

    data: bytes
    name: int | bytes
    indexes: tuple[int, ...] = ()

    def __str__(self) -> str:
        """Return the description of the schema for error texts."""
        return f"id {self.name}" if isinstance(self.name, int) else f"GUID {self.name.hex()}"


def frame_bytes(name: int | bytes, indexes: Sequence[int] | None, *, zigzag: bool = True) -> bytes:
    """Return the bytes of a frame; without message indexes if `indexes` is None."""
    head = b"\0" + name.to_bytes(4, "big") if isinstance(name, int) else bytes([_GUID]) + name
    return head + (b"" if indexes is None else index_bytes(indexes, zigzag=zigzag))


def index_bytes(indexes: Sequence[int], *, zigzag: bool = True) -> bytes:
    """Return the encoded indexes of a message."""
    if list(indexes) == [0] and zigzag:
        return b"\0"
    found = bytearray()
    for number in (len(indexes), *indexes):
        left = number << 1 if zigzag else number
        while left > 0x7F:
            found.append(left & 0x7F | 0x80)
            left >>= 7
        found.append(left)
    return bytes(found)


def parse_frame(data: bytes, *, indexed: bool, zigzag: bool = True) -> Frame:
    """Parse the frame in front of bytes.

    Args:
        data: The frame, and at least some of the bytes after it.
        indexed: Whether the frame has indexes of a message, as for protobuf.
        zigzag: False for the format of Python clients before 2021.

    Raises:
        ValueError: There is no frame. The message has the actual bytes.
    """
    magic = data[0] if data else -1
    head = _HEADS.get(magic)
    if head is None or len(data) < head:
        raise ValueError(_no_frame(data))
    name = int.from_bytes(data[1:5], "big") if magic == _ID else data[1:17]
    if not indexed:
        return Frame(data[:head], name)
    indexes, end = _indexes(data, head, zigzag=zigzag)
    return Frame(data[:end], name, indexes)


def _indexes(data: bytes, place: int, *, zigzag: bool) -> tuple[tuple[int, ...], int]:
    count, place = _varint(data, place, zigzag=zigzag)
    if count == 0:
        return (0,), place
    if not 0 < count <= _MOST_INDEXES:
        raise ValueError(
            f"expected at most {_MOST_INDEXES:,} message indexes after the schema id, got {count}; "
            "for data of Python clients before 2021 use confluent(..., zigzag=False)"
        )
    found = []
    for _ in range(count):
        index, place = _varint(data, place, zigzag=zigzag)
        if index < 0:
            raise ValueError(f"a message index after the schema id is negative: index {index}")
        found.append(index)
    return tuple(found), place


def _varint(data: bytes, place: int, *, zigzag: bool) -> tuple[int, int]:
    value = 0
    for number in range(_LONGEST_VARINT):
        if place + number >= len(data):
            raise ValueError("the data ends within the message indexes after the schema id")
        byte = data[place + number]
        value |= (byte & 0x7F) << (7 * number)
        if byte < 0x80:
            return ((value >> 1) ^ -(value & 1)) if zigzag else value, place + number + 1
    raise ValueError("a message index after the schema id has more than 5 bytes")


def _no_frame(data: bytes) -> str:
    if not data:
        return "expected a schema id, got no bytes"
    if data[0] in _HEADS:
        return f"expected a schema id, got only {len(data)} bytes"
    guess = "; it looks like plain JSON" if data[:1] in b"{[" else ""
    return (
        f"no schema id: the first byte is {data[0]:#04x}, not 0{guess}. Plain bytes are read "
        "without confluent(...), and ids in headers with Topic(framing=HEADER_IDS)"
    )


@dataclass(frozen=True)
class Frames:
    """The frames of a column.

    Attributes:
        frames: The distinct frames.
        numbers: The index in `frames` of each row's frame; -1 for null, -2 without a frame.
    """

    frames: list[Frame]
    numbers: npt.NDArray[np.int64]


def frames_of(data: pa.Array, *, indexed: bool, zigzag: bool = True) -> Frames:
    """Read the frames of a `binary` column.

    Rows with the same frame are found together, without an object per row.
    """
    count = len(data)
    numbers = np.full(count, -1)
    frames: list[Frame] = []
    if data.null_count == count:
        return Frames(frames, numbers)
    rows = np.flatnonzero(data.is_valid().to_numpy(zero_copy_only=False))
    for _ in range(_ROUNDS):
        if not len(rows):
            break
        own = data[int(rows[0])].as_py()
        try:
            frame = parse_frame(own, indexed=indexed, zigzag=zigzag)
        except ValueError:
            numbers[rows[0]] = -2
            rows = rows[1:]
            continue
        same = _starting_with(frame.data, data)
        numbers[same] = len(frames)
        frames.append(frame)
        if len(frames) == 1 and same.sum() == len(rows):
            return Frames(frames, numbers)
        rows = rows[~same[rows]]
    _one_by_one(rows, data, frames, numbers, indexed=indexed, zigzag=zigzag)
    return Frames(frames, numbers)


def _starting_with(start: bytes, data: pa.Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that start with these bytes; False for null."""
    found = pc.starts_with(data, pattern=start)
    same: npt.NDArray[np.bool_] = found.fill_null(False).to_numpy(zero_copy_only=False)
    return same


def _one_by_one(
    rows: npt.NDArray[np.int64],
    data: pa.Array,
    frames: list[Frame],
    numbers: npt.NDArray[np.int64],
    *,
    indexed: bool,
    zigzag: bool,
) -> None:
    known = {frame.data: number for number, frame in enumerate(frames)}
    for row in rows.tolist():
        try:
            frame = parse_frame(data[row].as_py(), indexed=indexed, zigzag=zigzag)
        except ValueError:
            numbers[row] = -2
            continue
        number = known.setdefault(frame.data, len(frames))
        if number == len(frames):
            frames.append(frame)
        numbers[row] = number
