"""The records of a columnar join: in memory across batches, and as blocks in the store."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Ints
from kstreams.state.cache.encoded_rows import EncodedRows
from kstreams.state.stores.join.blocks import (
    BLOCK_BOUNDS,
    Block,
    block_handle,
    block_place,
    block_prefix,
    bytes_of,
    in_blocks,
    read_block,
    slot_width,
    write_block,
)
from kstreams.state.stores.join.coding import BLOCKS, WAITING
from kstreams.state.stores.join.columns import JoinColumns, StoredElements
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import Clocks, Setup
from kstreams.times import FAR_MS

__all__ = ("TAIL_BYTES", "Elements", "JoinTail", "RowLimits", "Tail")

TAIL_BYTES: Final = 16 * 1024 * 1024
"""The maximum bytes of a tail; above it, the older half moves to rows, which are read by key."""

_ELEMENT_BYTES = 40
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Elements:
    """Records of both sides of a join that may still find partners, as columns in any order.

    Attributes:
        sides: The sides of the records: 0 left, 1 right.
        keys: The encoded keys, as in stores.
        times: The timestamps of the records, ms.
        numbers: The arrival numbers of the records.
        fates: 1 for records that wait for a partner, 0 for settled records.
        values: The encoded values.
        headers: The headers of waiting records, as `write_headers` returns them; None where
            no record has headers.
    """

    sides: Ints
    keys: pa.Array
    times: Ints
    numbers: Ints
    fates: Ints
    values: pa.Array
    headers: pa.Array | None = None

    def __len__(self) -> int:
        """Return the number of elements."""
        return len(self.times)

    def take(self, places: Ints) -> Elements:
        """Return the elements at these positions."""
        rows = pa.array(places)
        return Elements(
            self.sides[places],
            self.keys.take(rows),
            self.times[places],
            self.numbers[places],
            self.fates[places],
            self.values.take(rows),
            None if self.headers is None else self.headers.take(rows),
        )

    @classmethod
    def of(cls, parts: Sequence[Elements]) -> Elements:
        """Concatenate several `Elements`."""
        if not parts:
            none = pa.array([], pa.binary())
            return cls(_NONE, none, _NONE, _NONE, _NONE, none)
        return cls(
            np.concatenate([part.sides for part in parts]),
            pa.concat_arrays([part.keys for part in parts]),
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.fates for part in parts]),
            pa.concat_arrays([part.values for part in parts]),
            _joined_headers(parts),
        )

    def stored(self) -> StoredElements:
        """Convert to `StoredElements`, which have no sides and keys.

        Each number in `rows` is -1, because the elements were not read from rows of the store.
        """
        rows = np.full(len(self), -1)
        return StoredElements(rows, self.times, self.numbers, self.fates, self.values)


def _joined_headers(parts: Sequence[Elements]) -> pa.Array | None:
    if all(part.headers is None for part in parts):
        return None
    return pa.concat_arrays(
        [
            pa.array([b""] * len(part), pa.binary()) if part.headers is None else part.headers
            for part in parts
        ]
    )


@dataclass(frozen=True)
class Tail:
    """The content of all blocks of a join store.

    Attributes:
        elements: The remembered records.
        handles: The encoded keys of the blocks, sorted.
    """

    elements: Elements
    handles: tuple[bytes, ...]

    @property
    def size_bytes(self) -> int:
        """Return the approximate memory of the tail, in bytes."""
        content = self.elements.keys.nbytes + self.elements.values.nbytes
        content += 0 if self.elements.headers is None else self.elements.headers.nbytes
        return int(content) + _ELEMENT_BYTES * len(self.elements) + 50 * len(self.handles)


class RowLimits(NamedTuple):
    """Limits for the times of records in rows, for a join store with rows and blocks.

    Attributes:
        newest_left: The time of the newest left record that may be in a row, ms.
        newest_right: The time of the newest right record that may be in a row, ms.
        next: The number of the next batch of blocks.
    """

    newest_left: int
    newest_right: int
    next: int

    @property
    def has_rows(self) -> bool:
        """Whether the store may have rows in addition to its blocks."""
        return max(self.newest_left, self.newest_right) > -FAR_MS


class JoinTail:
    """A join store's tail: the latest records, read once and then kept in memory.

    New records are written as blocks, by side and time slot; old blocks are deleted by slot.
    A batch that settles elements of older blocks writes the elements' numbers to a new block.

    Args:
        rows: The store's rows.
        columns: The columnar operations on the same rows.
        setup: The join's spans.
    """

    def __init__(self, rows: JoinRows[Any, Any, Any], columns: JoinColumns, setup: Setup) -> None:
        self._rows, self._columns, self._setup = rows, columns, setup
        self._encoded: EncodedRows = columns.rows
        self._slot = slot_width(setup.width)

    def row_limits(self) -> RowLimits:
        """Return the limits for the times of records in the store's rows."""
        found = self._rows.overlay.get(BLOCKS)
        if found is not None:
            return RowLimits(*found)
        clocks = self._rows.clocks()
        return RowLimits(clocks.newest_left, clocks.newest_right, 0)

    def read(self) -> Tail:
        """Return the tail, read from the store if needed; only `advance` may change the tail."""
        found = self._encoded.resident.take()
        if not isinstance(found, Tail):
            found = self._load()
        self._encoded.resident.keep(found)
        return found

    def last_close(self, keeps: tuple[bool, bool]) -> int | None:
        """Return the latest `close` of waiting records on the sides in `keeps`; None without any.

        `close` is the stream time (ms) after which the join forwards a record without a partner.
        """
        elements, setup = self.read().elements, self._setup
        waits = elements.fates == WAITING
        waits &= self._lasting(elements, self._rows.clocks()) & np.array(keeps)[elements.sides]
        delays = np.array([setup.close(0, 0), setup.close(1, 0)])
        closes = (elements.times + delays[elements.sides])[waits]
        return int(closes.max()) if len(closes) else None

    def advance(self, tail: Tail, settled: Bools, fresh: Elements, clocks: Clocks) -> None:
        """Add a batch's records, and delete records that can no longer find a partner.

        Args:
            tail: The result of `read`.
            settled: For each element of the tail, whether this batch settled it.
            fresh: The new records, filtered by `lasting`.
            clocks: The newest and final times after the batch.
        """
        fates = np.where(settled, 0, tail.elements.fates)
        old = replace(tail.elements, fates=fates)
        lasting = np.flatnonzero(self._lasting(old, clocks))
        limits = self.row_limits()
        handles = self._forget(tail.handles, clocks)
        noted = lasting[settled[lasting]]
        made = self._write(fresh, old.sides[noted], old.times[noted], old.numbers[noted], limits)
        elements = old if len(lasting) == len(old) else old.take(lasting)
        whole = Elements.of([part for part in (elements, fresh) if len(part)])
        found = Tail(whole, tuple(sorted((*handles, *made))))
        limits = self._forget_rows(limits, clocks)._replace(next=limits.next + 1)
        if len(whole) and found.size_bytes > TAIL_BYTES:
            found, limits = self._spread(found, limits)
        self._rows.overlay.put(BLOCKS, tuple(limits))
        self._encoded.resident.keep(found)

    def lasting(self, sides: Ints, times: Ints, waits: Bools, clocks: Clocks) -> Bools:
        """Return, for each record, whether the store needs it to find later partners.

        A record is not needed if it is too old, or if it was forwarded without a partner. `waits`:
        whether each record waits for a partner. `clocks`: the newest and final times.
        """
        newest = np.array([clocks.newest_left, clocks.newest_right])
        finals = np.array([clocks.final_left, clocks.final_right])
        known = times >= newest[sides] - self._setup.memory
        found: Bools = known & ~(waits & (times < finals[sides]))
        return found

    def _lasting(self, elements: Elements, clocks: Clocks) -> Bools:
        waits = elements.fates == WAITING
        return self.lasting(elements.sides, elements.times, waits, clocks)

    def _forget(self, handles: tuple[bytes, ...], clocks: Clocks) -> list[bytes]:
        """Delete the blocks of expired slots; return the keys of the remaining blocks."""
        kept: list[bytes] = []
        for side in (0, 1):
            end = (clocks.newest(side) - self._setup.memory) // self._slot
            bounds = (
                block_prefix(side, -FAR_MS),
                block_prefix(side, end),
                block_prefix(side + 1, -FAR_MS),
            )
            first, last, after = (bisect_left(handles, bound) for bound in bounds)
            gone = handles[first:last]
            self._encoded.put_many(gone, [None] * len(gone))
            kept += handles[max(first, last) : after]
        return kept

    def _write(
        self, fresh: Elements, sides: Ints, times: Ints, settled: Ints, limits: RowLimits
    ) -> list[bytes]:
        """Write new elements, and the numbers of newly settled elements, as blocks.

        Returns the encoded keys of the blocks.
        """
        slots, noted_slots = fresh.times // self._slot, times // self._slot
        order = np.lexsort((fresh.numbers, slots, fresh.sides))
        fresh = fresh.take(order)
        slots = slots[order]
        noted: dict[tuple[int, int], list[int]] = {}
        for side, slot, number in zip(
            sides.tolist(), noted_slots.tolist(), settled.tolist(), strict=True
        ):
            noted.setdefault((side, slot), []).append(number)
        bounds = [0, *np.flatnonzero(np.diff(slots) | np.diff(fresh.sides)) + 1, len(slots)]
        made: dict[bytes, bytes] = {}
        headers = fresh.headers
        sizes = bytes_of(fresh.keys) + bytes_of(fresh.values)
        sizes += 0 if headers is None else bytes_of(headers)
        part = 0
        for low, high in pairwise(bounds):
            if low == high:
                continue
            place = int(fresh.sides[low]), int(slots[low])
            for begin, end in in_blocks(sizes[low:high]):
                own = slice(low + begin, low + end)
                block = Block(
                    fresh.keys[own],
                    fresh.times[own],
                    fresh.numbers[own],
                    fresh.fates[own],
                    fresh.values[own],
                    np.array(noted.pop(place, []), np.int64),
                    None if headers is None else headers[own],
                )
                made[block_handle(*place, (limits.next << 32) + part)] = write_block(block)
                part += 1
        none = Elements.of([])
        for place, numbers in noted.items():
            block = Block(none.keys, _NONE, _NONE, _NONE, none.values, np.array(numbers))
            made[block_handle(*place, (limits.next << 32) + part)] = write_block(block)
            part += 1
        self._encoded.put_many(list(made), list(made.values()))
        return list(made)

    def _load(self) -> Tail:
        """Read all blocks from the store."""
        handles: list[bytes] = []
        parts: list[Elements] = []
        settled: list[Ints] = []
        for handle, data in self._encoded.scan(*BLOCK_BOUNDS):
            block = read_block(data)
            side, _ = block_place(handle)
            handles.append(handle)
            settled.append(block.settled)
            sides = np.full(len(block.times), side)
            columns = block.keys, block.times, block.numbers, block.fates, block.values
            parts.append(Elements(sides, *columns, block.headers))
        found = Elements.of(parts)
        if handles:
            waiting = ~np.isin(found.numbers, np.concatenate(settled))
            found = replace(found, fates=np.where(waiting, found.fates, 0))
            found = found.take(np.flatnonzero(self._lasting(found, self._rows.clocks())))
        return Tail(found, tuple(handles))

    def _forget_rows(self, limits: RowLimits, clocks: Clocks) -> RowLimits:
        """Delete the buckets of expired rows; return `limits` with the newest times of the rest.

        The newest time of a side becomes `-FAR_MS` if no row of the side is left.
        """
        newest = [limits.newest_left, limits.newest_right]
        for side in (0, 1):
            end = (clocks.newest(side) - self._setup.memory) // self._setup.width
            if newest[side] > -FAR_MS:
                self._rows.drop_buckets(side, end)
                if newest[side] // self._setup.width < end:
                    newest[side] = -FAR_MS
        return RowLimits(newest[0], newest[1], limits.next)

    def _spread(self, tail: Tail, limits: RowLimits) -> tuple[Tail, RowLimits]:
        """Move the records of the oldest slots, about half of all records, from blocks to rows."""
        elements, setup = tail.elements, self._setup
        slots = elements.times // self._slot
        rising = np.sort(slots)
        end = int(rising[len(rising) // 2]) + 1
        old, rest = elements.take(np.flatnonzero(slots < end)), np.flatnonzero(slots >= end)
        self._columns.add(old.sides, old.times // setup.width, old.keys, old.stored())
        waiting = old.take(np.flatnonzero(old.fates == WAITING))
        if len(waiting):
            delays = np.array([setup.close(0, 0), setup.close(1, 0)])
            self._columns.put_open(
                waiting.times + delays[waiting.sides],
                waiting.sides,
                waiting.times,
                waiting.numbers,
                waiting.keys,
                headers=waiting.headers,
            )
        gone = [handle for handle in tail.handles if block_place(handle)[1] < end]
        self._encoded.put_many(gone, [None] * len(gone))
        newest = [limits.newest_left, limits.newest_right]
        for side in (0, 1):
            own = old.times[old.sides == side]
            newest[side] = max(newest[side], int(own.max(initial=-FAR_MS)))
        left = set(gone)
        handles = tuple(handle for handle in tail.handles if handle not in left)
        return Tail(elements.take(rest), handles), RowLimits(newest[0], newest[1], limits.next)
