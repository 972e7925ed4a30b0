"""Framing: schema ids and other prefixes of keys and values that a topic keeps in headers.

A serde sees only bytes. A `Framing` moves data about keys and values from other parts of a record,
such as a schema id in a header, to the front of the bytes, where a `FramedSerde` reads it, and
back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.raw_batch import HEADERS_TYPE, header_pairs, headers_array, headers_of
from kstreams.record import Headers
from kstreams.serde.objects import objects_of

__all__ = ("Columns", "Frames", "Framing", "HeaderFrames", "RawParts")

_END = (1 << 31) - 1
"""The `stop` argument for `binary_slice`, whose sizes overflow without it (pyarrow 22)."""

RawParts = tuple["bytes | None", "bytes | None", Headers]
"""Key, value and headers of a record."""
Columns = tuple[pa.Array, pa.Array, pa.Array]
"""Columns of keys, values and headers, of types `binary`, `binary` and `HEADERS_TYPE`."""
Frames = tuple[bytes, bytes]
"""The prefixes that the serdes of key and value write; empty if a serde writes none."""


class Framing(ABC):
    """A conversion between the records of a topic and the input of its serdes.

    A framing is immutable, compares by value and can be pickled. Implement the methods for one
    record; override the methods for columns for speed. Null keys and values stay null, and have no
    frame.
    """

    @abstractmethod
    def read_record(self, key: bytes | None, value: bytes | None, headers: Headers) -> RawParts:
        """Prepend the frames to key and value; a key or value without a frame stays unchanged."""

    @abstractmethod
    def write_record(
        self, key: bytes | None, value: bytes | None, headers: Headers, frames: Frames
    ) -> RawParts:
        """Remove the frames from the front of key and value, and store them in the record.

        Args:
            key: The serialized key, which begins with its frame.
            value: The serialized value, which begins with its frame.
            headers: The headers of the record.
            frames: The frames of key and value; empty for a serde that writes no frame.
        """

    def read(self, keys: pa.Array, values: pa.Array, headers: pa.Array) -> Columns:
        """Apply `read_record` to each row."""
        rows = zip(objects_of(keys), objects_of(values), headers_of(headers), strict=True)
        return _columns([self.read_record(*row) for row in rows])

    def write(self, keys: pa.Array, values: pa.Array, headers: pa.Array, frames: Frames) -> Columns:
        """Apply `write_record` to each row."""
        rows = zip(objects_of(keys), objects_of(values), headers_of(headers), strict=True)
        return _columns([self.write_record(*row, frames) for row in rows])


def _columns(rows: list[RawParts]) -> Columns:
    keys, values = (pa.array([row[place] for row in rows], pa.binary()) for place in (0, 1))
    return keys, values, headers_array([row[2] for row in rows])


@dataclass(frozen=True)
class HeaderFrames(Framing):
    """Frames in headers. In a record without such a header, the frame precedes the bytes.

    The first header of a name counts. Processors do not see these headers. The headers of this
    framing replace headers of the same name in results.

    Args:
        key: The name of the header for the key.
        value: The name of the header for the value.
    """

    key: str
    value: str

    def read_record(self, key: bytes | None, value: bytes | None, headers: Headers) -> RawParts:
        """Prepend the frames, which are in headers, to key and value."""
        found: dict[str, bytes] = {}
        for name, content in headers:
            found.setdefault(name, content or b"")
        return (
            None if key is None else found.get(self.key, b"") + key,
            None if value is None else found.get(self.value, b"") + value,
            self._others(headers),
        )

    def write_record(
        self, key: bytes | None, value: bytes | None, headers: Headers, frames: Frames
    ) -> RawParts:
        """Move the frames from key and value into headers, after the other headers."""
        own = tuple(
            (name, frame)
            for name, frame, data in zip((self.key, self.value), frames, (key, value), strict=True)
            if frame and data is not None
        )
        return (
            None if key is None else key[len(frames[0]) :],
            None if value is None else value[len(frames[1]) :],
            (*self._others(headers), *own),
        )

    def _others(self, headers: Headers) -> Headers:
        return tuple(pair for pair in headers if pair[0] not in (self.key, self.value))

    def read(self, keys: pa.Array, values: pa.Array, headers: pa.Array) -> Columns:
        """Prepend the frames, for whole columns."""
        if headers.null_count == len(headers):
            return keys, values, headers
        owners, pairs = header_pairs(headers)
        framed = [
            _joined(data, _first(owners, pairs, name, len(headers)))
            for name, data in ((self.key, keys), (self.value, values))
        ]
        kept = self._kept(pairs)
        return framed[0], framed[1], _lists(len(headers), owners[kept], pairs.filter(kept))

    def write(self, keys: pa.Array, values: pa.Array, headers: pa.Array, frames: Frames) -> Columns:
        """Move the frames into headers, for whole columns."""
        owners, pairs = header_pairs(headers)
        kept = self._kept(pairs)
        rows, parts, plain = [owners[kept]], [pairs.filter(kept)], []
        columns = ((self.key, keys, frames[0]), (self.value, values, frames[1]))
        for name, data, frame in columns:
            if frame:
                valid = np.flatnonzero(data.is_valid().to_numpy(zero_copy_only=False))
                rows.append(valid)
                parts.append(_repeated(name, frame, len(valid)))
            plain.append(pc.binary_slice(data, len(frame), _END) if frame else data)
        everywhere = np.concatenate(rows)
        order = np.argsort(everywhere, kind="stable")
        moved = pa.concat_arrays(parts).take(pa.array(order))
        return plain[0], plain[1], _lists(len(headers), everywhere[order], moved)

    def _kept(self, pairs: pa.StructArray) -> npt.NDArray[np.bool_]:
        own = pc.is_in(pairs.field("key"), pa.array([self.key, self.value]))
        return ~np.asarray(own.to_numpy(zero_copy_only=False), bool)


def _first(owners: npt.NDArray[np.int64], pairs: pa.StructArray, name: str, count: int) -> pa.Array:
    """Return the value of each row's first header with a name; empty if there is none.

    Args:
        owners: The row number of each header.
        pairs: The name and value of each header.
        name: The name of the headers to find.
        count: The number of rows.
    """
    own = pc.equal(pairs.field("key"), name).fill_null(False)
    places = np.flatnonzero(own.to_numpy(zero_copy_only=False))
    found = np.full(count, -1)
    found[owners[places][::-1]] = places[::-1]
    taken = pairs.field("value").take(pa.array(found, mask=found < 0))
    return taken.fill_null(b"")


def _joined(data: pa.Array, frames: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(frames, data, pa.scalar(b"", pa.binary()))


def _repeated(name: str, value: bytes, count: int) -> pa.StructArray:
    columns = [pa.repeat(name, count), pa.repeat(pa.scalar(value, pa.binary()), count)]
    return pa.StructArray.from_arrays(columns, fields=list(HEADERS_TYPE.value_type))


def _lists(count: int, owners: npt.NDArray[np.int64], pairs: pa.StructArray) -> pa.Array:
    """Return a headers column; rows without headers become null.

    Args:
        count: The number of rows.
        owners: The row number of each header, ascending.
        pairs: The name and value of each header.
    """
    if not len(owners):
        return pa.nulls(count, HEADERS_TYPE)
    sizes = np.bincount(owners, minlength=count)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    empty = np.concatenate([sizes == 0, [False]])
    typed = pairs.cast(HEADERS_TYPE.value_type)
    made = pa.ListArray.from_arrays(pa.array(ends, mask=empty), typed)
    return made.cast(HEADERS_TYPE)
