"""Columnar operations on a join store's rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Ints
from kstreams.serde.binary import binary_array, read_times, sortable_times
from kstreams.serde.composite import sortable_int64
from kstreams.serde.objects import objects_of
from kstreams.state.cache.encoded_rows import EncodedRows
from kstreams.state.stores.join.blocks import bytes_of
from kstreams.state.stores.join.coding import ELEMENT, OPEN, ROW, ROW_HEAD
from kstreams.state.stores.join.rows import CHUNK, JoinRows
from kstreams.state.stores.state_store import StateStore

__all__ = ("JoinColumns", "OpenEntries", "StoredElements")

_HEAD = np.dtype([("time", ">i8"), ("number", ">i8"), ("fate", "u1"), ("size", ">u4")])
_BOUNDS = struct.Struct(">qq")


@dataclass(frozen=True)
class StoredElements:
    """The records (elements) of several rows of a join store, row by row, in arrival order.

    Attributes:
        rows: The row of each element, as an index into the rows that were read.
        times: The timestamps of the elements, ms.
        numbers: The arrival numbers of the elements.
        fates: 1 for elements that wait for a partner, 0 for settled elements.
        values: The encoded values.
    """

    rows: Ints
    times: Ints
    numbers: Ints
    fates: Ints
    values: pa.Array

    def take(self, places: Ints) -> StoredElements:
        """Return the elements at these positions."""
        return StoredElements(
            self.rows[places],
            self.times[places],
            self.numbers[places],
            self.fates[places],
            self.values.take(pa.array(places)),
        )

    def with_more(self, others: StoredElements) -> StoredElements:
        """Return these elements followed by other elements."""
        return StoredElements(
            np.concatenate((self.rows, others.rows)),
            np.concatenate((self.times, others.times)),
            np.concatenate((self.numbers, others.numbers)),
            np.concatenate((self.fates, others.fates)),
            pa.concat_arrays([self.values, others.values]),
        )


@dataclass(frozen=True)
class OpenEntries:
    """Waiting records, in the order of the times when they are forwarded without a partner.

    Attributes:
        closes: The stream times (ms) after which the records are forwarded without a partner.
        sides: The sides of the records: 0 left, 1 right.
        times: The timestamps of the records, ms.
        numbers: The arrival numbers of the records.
        keys: The encoded keys of the records, as in the store.
        headers: Headers of the records, as `write_headers` returns them.
    """

    closes: Ints
    sides: Ints
    times: Ints
    numbers: Ints
    keys: list[bytes]
    headers: list[bytes]


class JoinColumns:
    """Reads and writes many rows of `JoinRows` at a time.

    Args:
        rows: The store's rows, whose cache is switched from objects to bytes.
    """

    def __init__(self, rows: JoinRows[Any, Any, Any]) -> None:
        self.rows = EncodedRows(rows.overlay)

    @classmethod
    def of(cls, store: StateStore[JoinRows[Any, Any, Any]]) -> JoinColumns:
        """Return the columnar access to a store's rows."""
        return cls(JoinRows.of(store))

    def handles(self, sides: Ints, buckets: Ints, keys: pa.Array) -> list[bytes]:
        """Return the encoded row keys (handles) of sides, time buckets and encoded record keys."""
        count = len(sides)
        heads = np.zeros((count, 14), np.uint8)
        heads[:, 0], heads[:, 1] = ROW[0], sides
        heads[:, 2:10] = sortable_times(buckets).view(np.uint8).reshape(-1, 8)
        fixed = binary_array(heads.reshape(-1), count, 14)
        found: list[bytes] = objects_of(pc.binary_join_element_wise(fixed, keys, b""))
        return found

    def read(self, handles: Sequence[bytes]) -> StoredElements:
        """Return the elements of rows, including the rows' further chunks."""
        data = self.rows.get_many(handles)
        parts: list[bytes] = []
        owners = list(range(len(handles)))
        for place, row in enumerate(data):
            if row is not None and (chunks := ROW_HEAD.unpack_from(row)[1]):
                head, key = handles[place][:10], handles[place][14:]
                parts += [head + n.to_bytes(4, "big") + key for n in range(1, chunks + 1)]
                owners += [place] * chunks
        if not parts:
            return _elements(data)
        found = _elements([*data, *self.rows.get_many(parts)])
        rows = np.array(owners)[found.rows]
        return replace(found, rows=rows).take(np.lexsort((found.numbers, rows)))

    def write(self, handles: Sequence[bytes], elements: StoredElements) -> None:
        """Replace the contents of rows.

        Args:
            handles: The encoded keys of the rows.
            elements: The new elements, row by row; at least one element per row.
        """
        counts = np.bincount(elements.rows, minlength=len(handles))
        firsts = np.cumsum(counts) - counts
        long = counts > CHUNK
        for row in np.flatnonzero(long).tolist():
            first = int(firsts[row])
            part = elements.take(np.arange(first, first + int(counts[row])))
            self._write_long(handles[row], part)
        heads = _heads(elements)
        values = elements.values
        for count in np.unique(counts[~long]).tolist():
            rows = np.flatnonzero(counts == count)
            sides = [handles[row][1] for row in rows.tolist()]
            begins = pa.array([ROW_HEAD.pack(side, 0, count) for side in (0, 1)], pa.binary())
            pieces = [begins.take(pa.array(sides))]
            places = [pa.array(firsts[rows] + n) for n in range(count)]
            pieces += [heads.take(place) for place in places]
            pieces += [values.take(place) for place in places]
            data = pc.binary_join_element_wise(*pieces, b"")
            self.rows.put_many([handles[row] for row in rows.tolist()], objects_of(data))

    def add(self, sides: Ints, buckets: Ints, keys: pa.Array, elements: StoredElements) -> None:
        """Add each element to the row of its side, bucket and key."""
        every = self.handles(sides, buckets, keys)
        handles = sorted(set(every))
        places = {handle: place for place, handle in enumerate(handles)}
        rows = np.fromiter(map(places.__getitem__, every), np.int64, len(every))
        both = self.read(handles).with_more(replace(elements, rows=rows))
        self.write(handles, both.take(np.lexsort((both.numbers, both.rows))))

    def put_open(
        self,
        closes: Ints,
        sides: Ints,
        times: Ints,
        numbers: Ints,
        keys: pa.Array,
        *,
        headers: pa.Array | None = None,
    ) -> None:
        """Add the index entries of waiting records; each column has one item per record.

        `closes` and `times` are in ms; `keys` are encoded as in the store.
        """
        count = len(closes)
        heads = np.zeros((count, 26), np.uint8)
        heads[:, 0], heads[:, 9] = OPEN[0], sides
        for place, column in ((1, closes), (10, times), (18, numbers)):
            heads[:, place : place + 8] = sortable_times(column).view(np.uint8).reshape(-1, 8)
        fixed = binary_array(heads.reshape(-1), count, 26)
        handles = objects_of(pc.binary_join_element_wise(fixed, keys, b""))
        self.rows.put_many(handles, [b""] * count if headers is None else objects_of(headers))

    def take_open(self, end_ms: int) -> OpenEntries:
        """Delete and return the index entries of waiting records with `close < end_ms`.

        `close` is the stream time (ms) after which the join forwards a waiting record without a
        partner. The entries are ordered by `close`, side, time and number.
        """
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        low, high = OPEN, OPEN + sortable_int64(end_ms)
        entries = list(self.rows.scan(low, high))
        found = [handle for handle, _ in entries]
        if found:
            self.rows.delete_range(low, high)
        heads = np.frombuffer(b"".join([handle[:26] for handle in found]), np.uint8)
        heads = heads.reshape(-1, 26)
        closes, times, numbers = (
            read_times(heads[:, place : place + 8].tobytes()) for place in (1, 10, 18)
        )
        sides = heads[:, 9].astype(np.int64)
        keys, headers = [handle[26:] for handle in found], [data for _, data in entries]
        return OpenEntries(closes, sides, times, numbers, keys, headers)

    def _write_long(self, handle: bytes, elements: StoredElements) -> None:
        """Write a row of more than `CHUNK` elements as a head row and rows for further chunks."""
        bounds: list[tuple[int, int]] = []
        last = (len(elements.times) - 1) // CHUNK
        for number in range(last + 1):
            part = elements.take(np.arange(number * CHUNK, len(elements.times))[:CHUNK])
            body = b"".join((*objects_of(_heads(part)), *objects_of(part.values)))
            count = len(part.times)
            if number == last:
                limits = b"".join(_BOUNDS.pack(*pair) for pair in bounds)
                data = ROW_HEAD.pack(handle[1], len(bounds), count) + limits + body
                self.rows.put_many([handle], [data])
            else:
                bounds.append((int(part.times.min()), int(part.times.max())))
                name = handle[:10] + (number + 1).to_bytes(4, "big") + handle[14:]
                self.rows.put_many([name], [ROW_HEAD.pack(handle[1], 0, count) + body])


def _heads(elements: StoredElements) -> pa.Array:
    """Return the encoded head of each element: time, number, fate, and size of the value."""
    heads = np.empty(len(elements.times), _HEAD)
    heads["time"], heads["number"] = elements.times, elements.numbers
    heads["fate"] = elements.fates
    heads["size"] = bytes_of(elements.values)
    return binary_array(heads.view(np.uint8), len(heads), ELEMENT.size)


def _elements(data: Sequence[bytes | None]) -> StoredElements:
    """Decode encoded rows to elements; None is a missing row, which has no elements."""
    rows = np.array([place for place, row in enumerate(data) if row is not None], np.int64)
    there = [row for row in data if row is not None]
    if not there:
        none = np.zeros(0, np.int64)
        return StoredElements(none, none, none, none, pa.array([], pa.binary()))
    joined = b"".join(there)
    buffer = np.frombuffer(joined, np.uint8)
    starts = np.cumsum([0, *map(len, there[:-1])])
    sizes = buffer[starts[:, None] + np.arange(1, ROW_HEAD.size)].reshape(-1).view(">u4")
    chunks, counts = sizes.reshape(-1, 2).astype(np.int64).T
    bases = starts + ROW_HEAD.size + 16 * chunks
    own = np.repeat(np.arange(len(there)), counts)
    rank = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
    places = bases[own] + ELEMENT.size * rank
    heads = buffer[places[:, None] + np.arange(ELEMENT.size)].reshape(-1).view(_HEAD)
    lengths = heads["size"].astype(np.int64)
    before = np.cumsum(lengths) - lengths
    firsts = np.zeros(len(there), np.int64)
    firsts[own[rank == 0]] = before[rank == 0]
    begins = (bases + ELEMENT.size * counts - firsts)[own] + before
    cuts = zip(begins.tolist(), (begins + lengths).tolist(), strict=True)
    return StoredElements(
        rows[own],
        heads["time"].astype(np.int64),
        heads["number"].astype(np.int64),
        heads["fate"].astype(np.int64),
        pa.array([joined[begin:end] for begin, end in cuts], pa.binary()),
    )
