"""The rows of a join store: the records of each side, by time bucket and key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kstreams._types import K
from kstreams.record import Headers
from kstreams.serde.base import Serde
from kstreams.serde.composite import sortable_int64
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.join.blocks import BLOCK_BOUNDS, read_block
from kstreams.state.stores.join.coding import (
    BLOCK,
    BLOCKS,
    CLOCKS,
    OPEN,
    SETTLED,
    SETUP,
    WAITING,
    Element,
    JoinKeySerde,
    JoinRowSerde,
    read_headers,
    row_prefix,
)
from kstreams.state.stores.join.packed import PackedRows, Remembered
from kstreams.state.stores.join.setup import NO_CLOCKS, NO_SETUP, Clocks, Setup
from kstreams.state.stores.key_bounds import after_prefix
from kstreams.state.stores.kind import Content
from kstreams.state.stores.state_store import StoreRows
from kstreams.times import FAR_MS

__all__ = (
    "CHUNK",
    "JoinRows",
    "Open",
    "Row",
    "added",
)

VL = TypeVar("VL")
"""Type of the left values."""
VR = TypeVar("VR")
"""Type of the right values."""

CHUNK: Final = 32
"""The maximum number of elements of one row."""

Row = tuple[int, "tuple[tuple[int, int], ...]", "tuple[Element, ...]"]
"""The side, the first and last time of each further chunk, and the elements by arrival."""


class Open(NamedTuple):
    """The index entry of a record that waits for a partner; entries are ordered by `close`.

    `close` is the stream time (ms) after which the record is forwarded without a partner.
    """

    close: int
    side: int
    time: int
    number: int
    key: Any
    headers: Headers = ()


class JoinRows(StoreRows, Generic[K, VL, VR]):
    """The rows of a join store: one per side, time bucket and key; and an index of waiting records.

    A lookup reads one or two rows by key, without a scan. A long row is split into chunks, each
    in a row; the head row has the times of the chunks. The buckets that a side no longer needs
    are deleted as one range, closed index entries as another range. The index entry of a record is
    not deleted when the record finds a partner: the code that reads entries checks the record.

    Args:
        name: The store's name.
        key: Serde of the keys.
        sides: Serdes of the left and the right values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        overlay: The store's write-back cache.
        key: Serde of the keys, whose bytes sort like the keys.
        sides: The serdes of the left and the right values.
    """

    def __init__(
        self, name: str, key: Serde[K], sides: tuple[Serde[VL], Serde[VR]], overlay: Overlay
    ) -> None:
        self.key = key.ordered
        self.sides = sides
        self._keys, self._values = JoinKeySerde(key), JoinRowSerde(*sides)
        self.overlay = overlay.store(name, self._keys, self._values)
        self._has_moved = False  # entries were put by no record
        self._blocks = PackedRows(self.overlay, self.key, sides)

    def setup(self) -> Setup | None:
        """Return the stored setup of the join; None before the first call of `set_up`."""
        found = self.overlay.get(SETUP)
        return None if found is None else Setup(*found)

    def set_up(self, wanted: Setup) -> Setup:
        """Store the time spans of the join, and rewrite rows if the new spans need it.

        Args:
            wanted: The spans, with the smallest bucket width that fits these spans.

        Returns:
            The setup with the store's width, which is at least the wanted width.
        """
        had = self.setup()
        if had is None:
            self.overlay.put(SETUP, tuple(wanted))
            return wanted
        setup = wanted._replace(width=max(had.width, wanted.width))
        if setup != had:
            self._lay_out(had, setup)
            self.overlay.put(SETUP, tuple(setup))
        return setup

    def unpack(self) -> None:
        """Convert all blocks to rows; a join that processes single records reads only rows."""
        if self.overlay.get(BLOCKS) is None:
            return
        self._has_moved = True
        setup, clocks = self.setup() or NO_SETUP, self.clocks()
        for side, bucket, key, element, headers in sorted(self._packed(), key=_number):
            time, number, fate, _ = element
            if fate == SETTLED or time >= clocks.final(side):
                self.add(side, bucket, key, element)
                if fate == WAITING:
                    close = setup.close(side, time)
                    self.put_open(Open(close, side, time, number, key, headers))
        self.overlay.delete_range(*BLOCK_BOUNDS)
        self.overlay.put(BLOCKS, None)

    def mirror(self) -> None:
        """Copy the left side to the right side, if the store has no right records.

        Earlier versions of the library stored only the left side for all self-joins.
        """
        clocks = self.clocks()
        if clocks.newest_right != -FAR_MS or clocks.newest_left == -FAR_MS:
            return
        self.unpack()
        for row in sorted(self._scan_rows(), key=_number):
            time, number, _, value = row.element
            self.add(1, row.bucket, row.key, (time, number, SETTLED, value))
        self.set_clocks(clocks._replace(newest_right=clocks.newest_left))

    def clocks(self) -> Clocks:
        """Return the newest and the final times of both sides; see `Clocks`."""
        found = self.overlay.get(CLOCKS)
        return NO_CLOCKS if found is None else Clocks(*found)

    def set_clocks(self, clocks: Clocks) -> None:
        """Store the newest and the final times of both sides; see `Clocks`."""
        self.overlay.put(CLOCKS, tuple(clocks))

    def reader(self, side: int) -> Callable[[Any], Any]:
        """Return a function that returns the row of a store key of a side, or None.

        Use the function for one batch only: it does not read the backend for buckets after the
        newest bucket at this call.
        """
        newest = self.clocks().newest(side)
        width = (self.setup() or NO_SETUP).width
        return self.overlay.reader(None if newest == -FAR_MS else (1, side, newest // width + 1))

    def add(self, side: int, bucket: int, key: K, element: Element) -> None:
        """Append an element to the row of a side, bucket and key."""
        added(self.overlay.get, self.overlay.put, (1, side, bucket, 0, key), element)

    def chunks(self, handle: tuple[Any, ...], row: Row, low: int, high: int) -> Iterator[Any]:
        """Yield keys and rows of the chunks of a head row with times in `low` to `high` (ms)."""
        _, side, bucket, _, key = handle
        for number, (first, last) in enumerate(row[1], 1):
            if first <= high and last >= low:
                part = (1, side, bucket, number, key)
                found = self.overlay.get(part)
                if found is not None:
                    yield part, found

    def find(self, side: int, bucket: int, key: K, time: int, number: int) -> Element | None:
        """Return a record by its time (ms) and number, or None."""
        handle = (1, side, bucket, 0, key)
        head = self.overlay.get(handle)
        if head is None:
            return None
        for element in head[2]:
            if element[1] == number and element[0] == time:
                found: Element = element
                return found
        rows = (row for _, row in self.chunks(handle, head, time, time)) if head[1] else ()
        elements = (element for row in rows for element in row[2])
        return next((each for each in elements if each[:2] == (time, number)), None)

    def open_entries(self, start_ms: int | None, end_ms: int | None) -> Iterator[Open]:
        """Yield the `Open` entries of waiting records with `start_ms <= close < end_ms`.

        The entries are ordered by `close`, side, time and number; None is unbounded.
        """
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        low = OPEN if start_ms is None else OPEN + sortable_int64(start_ms)
        high = after_prefix(OPEN) if end_ms is None else OPEN + sortable_int64(end_ms)
        for handle, headers in self.overlay.scan(low, high):
            yield Open(*handle[1:6])._replace(headers=headers)

    def stored_entries(self, start_ms: int, end_ms: int) -> Iterator[Open]:
        """Yield the entries of `open_entries` that existed when the batch began.

        If a rewrite of rows has added entries, all entries in the range are yielded.
        """
        if self._has_moved:
            yield from self.open_entries(start_ms, end_ms)
            return
        low, high = OPEN + sortable_int64(start_ms), OPEN + sortable_int64(end_ms)
        for data, headers in self.overlay.stored.scan(low, high):
            entry = Open(*self._keys.deserialize(data)[1:6])
            yield entry._replace(headers=read_headers(headers))

    def put_open(self, entry: Open) -> None:
        """Add the index entry of a waiting record."""
        self.overlay.put((2, *entry[:5]), entry.headers)

    def last_close(self) -> int | None:
        """Return the latest `close` (ms) of all `Open` entries; None if there are none."""
        low, high = OPEN, after_prefix(OPEN)
        found = next(self.overlay.scan(low, high, reverse=True), None)
        return None if found is None else found[0][1]

    def drop_open(self, end_ms: int, start_ms: int = -FAR_MS) -> None:
        """Delete the `Open` entries of waiting records with `start_ms <= close < end_ms`."""
        low, high = sortable_int64(start_ms), sortable_int64(end_ms)
        self.overlay.delete_range(OPEN + low, OPEN + high)

    def drop_buckets(self, side: int, end: int, start: int = -FAR_MS) -> None:
        """Delete the buckets of a side with `start <= bucket < end`."""
        self.overlay.delete_range(row_prefix(side, start), row_prefix(side, end))

    def forget(self, ends: tuple[int, int], open_ms: int) -> None:
        """Delete buckets and index entries that the join no longer needs.

        Deletes the buckets of each side before the side's item of `ends`, and the `Open` entries of
        waiting records with `close < open_ms`.
        """
        ranges = [(row_prefix(side, -FAR_MS), row_prefix(side, ends[side])) for side in (0, 1)]
        ranges.append((OPEN + sortable_int64(-FAR_MS), OPEN + sortable_int64(open_ms)))

        def covers(handle: tuple[Any, ...]) -> bool:
            tag: int = handle[0]
            if tag == 1:
                return bool(handle[2] < ends[handle[1]])
            return tag == 2 and bool(handle[1] < open_ms)

        self.overlay.delete_ranges(ranges, covers)

    def buckets(self, side: int) -> Iterator[int]:
        """Yield the buckets of a side that have rows, ascending; one read per bucket."""
        low, high = row_prefix(side, -FAR_MS), row_prefix(side, FAR_MS)
        while found := next(self.overlay.scan(low, high), None):
            bucket: int = found[0][2]
            yield bucket
            low = row_prefix(side, bucket + 1)

    def of_key(self, side: int, key: K) -> Iterator[Remembered]:
        """Yield the remembered records of a side and key, by bucket, time and number."""
        packed = sorted(self._packed((side, key)), key=self._place)
        yield from merge(self._rows_of(side, key), packed, key=self._place)

    def scan(self) -> Iterator[Remembered]:
        """Yield all remembered records, by side, bucket, key, time and number."""
        packed = sorted(self._packed(), key=self._place)
        yield from (
            merge(self._scan_rows(), packed, key=self._place) if packed else self._scan_rows()
        )

    def _packed(self, of: tuple[int, K] | None = None) -> list[Remembered]:
        """Return the records in blocks; if `of` is given, only those of this side and key."""
        if self.overlay.get(BLOCKS) is None:
            return []
        return self._blocks.read((self.setup() or NO_SETUP).width, of)

    def _rows_of(self, side: int, key: K) -> Iterator[Remembered]:
        """Yield the records in the rows of a key."""
        for bucket in self.buckets(side):
            head = self.overlay.get((1, side, bucket, 0, key))
            if head is not None:
                yield from self._remembered(side, bucket, key, head)

    def _scan_rows(self) -> Iterator[Remembered]:
        """Yield the records in all rows."""
        for side in (0, 1):
            for bucket in self.buckets(side):
                start = row_prefix(side, bucket)
                end = start + (1).to_bytes(4, "big")  # heads come before all further chunks
                for handle, head in self.overlay.scan(start, end):
                    yield from self._remembered(side, bucket, handle[4], head)

    def _place(self, row: Remembered) -> tuple[Any, ...]:
        """Return the key by which `scan` and `of_key` sort records."""
        return row.side, row.bucket, self.key.serialize(row.key), *row.element[:2]

    def rebuild(self, key: bytes, data: bytes | None) -> None:
        """Set the value of an encoded store key, read from a changelog; None deletes the key.

        Raises:
            DeserializationError: The bytes do not belong to a join.
        """
        value = None if data is None else self._values.deserialize(data)
        if data is not None and key[:1] == BLOCK:
            read_block(data)
        self.overlay.put(self._keys.deserialize(key), value)

    def contents(self) -> Iterator[Content]:
        """Yield all records that may still find a partner, with their metadata.

        The `times` of each `Content` are the record's side, time (ms), number, fate (`SETTLED` or
        `WAITING`) and `close`, then the fields of `Setup`. For a waiting record, `close` is the
        stream time (ms) after which the join forwards the record without a partner; for a settled
        record, `close` has no meaning. Records that were forwarded without a partner are omitted.
        """
        setup, clocks = self.setup() or NO_SETUP, self.clocks()
        waiting = {
            entry[1:5]: (entry.close, entry.headers) for entry in self.open_entries(None, None)
        }
        for side, _, key, (time, number, fate, _), headers in self._packed():
            if fate == WAITING:
                waiting[side, time, number, key] = setup.close(side, time), headers
        for side, _, key, (time, number, fate, value), _ in self.scan():
            if fate == SETTLED or time >= clocks.final(side):
                close, headers = waiting.get((side, time, number, key), (0, ()))
                times = side, time, number, fate, close, *setup
                yield Content(key, value, times, headers)

    def fill(self, content: Content) -> None:
        """Write a record that `contents` of another store returned."""
        side, time, number, fate, close, *setup = content.times
        self.overlay.put(SETUP, tuple(setup))
        self.add(side, time // setup[0], content.key, (time, number, fate, content.value))
        if fate == WAITING:
            self.put_open(Open(close, side, time, number, content.key, content.headers))
        self.set_clocks(self.clocks().after(side, time, number))

    def _remembered(self, side: int, bucket: int, key: Any, head: Row) -> Iterator[Remembered]:  # noqa: ANN401  # erased
        elements = list(head[2])
        if head[1]:
            for _, row in self.chunks((1, side, bucket, 0, key), head, -FAR_MS, FAR_MS):
                elements += row[2]
        elements.sort(key=lambda element: element[:2])
        for element in elements:
            yield Remembered(side, bucket, key, element)

    def _lay_out(self, had: Setup, setup: Setup) -> None:
        """Rewrite the rows for a new bucket width, and the `Open` entries for new `close` times.

        `had` is the setup of the stored rows, `setup` the new setup.
        """
        self._has_moved = True
        self.unpack()
        if setup.width != had.width:
            rows = sorted(self.scan(), key=lambda row: row.element[1])
            for side in (0, 1):
                self.drop_buckets(side, FAR_MS)
            for row in rows:
                self.add(row.side, row.element[0] // setup.width, row.key, row.element)
        entries = list(self.open_entries(None, None))
        self.drop_open(FAR_MS)
        for entry in entries:
            close = setup.close(entry.side, entry.time)
            self.put_open(entry._replace(close=close))


def _number(row: Remembered) -> int:
    return int(row.element[1])


def added(
    get: Callable[[Any], Any],
    put: Callable[[Any, Any], None],
    handle: tuple[Any, ...],
    element: Element,
) -> None:
    """Append an element to a row; the elements of a full row move to a new chunk.

    `get` returns the row of a handle, or None; `put` sets it.
    """
    row = get(handle)
    if row is None:
        put(handle, (handle[1], (), (element,)))
        return
    side, bounds, elements = row
    if len(elements) >= CHUNK:
        times = [each[0] for each in elements]
        put((*handle[:3], len(bounds) + 1, handle[4]), (side, (), elements))
        bounds, elements = (*bounds, (min(times), max(times))), ()
    put(handle, (side, bounds, (*elements, element)))
