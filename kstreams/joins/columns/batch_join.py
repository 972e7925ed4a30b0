"""One batch of a columnar stream join: match new records with retained records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams._types import Bools, Ints
from kstreams.joins.columns.join_input import JoinInput
from kstreams.joins.columns.stream_matching import NEVER, Arrivals, Known, Met, final_times, meet
from kstreams.raw_batch import headers_array
from kstreams.serde.objects import objects_of
from kstreams.state.stores.join.coding import SETTLED, WAITING, read_headers
from kstreams.state.stores.join.columns import JoinColumns, OpenEntries, StoredElements
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import Clocks, Setup
from kstreams.state.stores.join.tail import Elements, JoinTail, Tail

__all__ = ("BatchJoin", "Near", "Outcome", "Stored")


@dataclass(frozen=True)
class Stored:
    """The rows of the join's store in which records of a batch may find partners.

    Attributes:
        handles: The store keys of the rows.
        codes: The key number of each row; includes keys that do not occur in the batch.
        sides: The side of each row: 0 left, 1 right.
        buckets: The time bucket of each row.
        elements: The records in the rows.
    """

    handles: list[bytes]
    codes: Ints
    sides: Ints
    buckets: Ints
    elements: StoredElements


@dataclass(frozen=True)
class Near:
    """The records of the store's tail (its latest records, in memory) that a batch may need.

    Attributes:
        places: The positions of the records in the tail.
        codes: The key number of each record; includes keys that do not occur in the batch.
        elements: The records.
        closes: The stream time at which the join window of each record closes, ms.
        ends: The mask of unmatched records whose join window closes in this batch.
    """

    places: Ints
    codes: Ints
    elements: Elements
    closes: Ints
    ends: Bools


@dataclass(frozen=True)
class Outcome:
    """The results of a batch, as indexes into `known`.

    Attributes:
        known: The stored records, followed by the records of the batch.
        met: The matched pairs.
        alone: Records of the batch that are forwarded unmatched on arrival.
        closed: Unmatched records whose join window has closed.
        closes: The stream time at which the window of each closed record closed, ms.
        headers: The headers of the closed records.
        late: The number of dropped late records.
        keys: The keys of the known records by key number, encoded as in the store.
        elements: The stored records at the beginning of `known`, with their encoded values.
    """

    known: Known
    met: Met
    alone: Ints
    closed: Ints
    closes: Ints
    headers: pa.Array
    late: int
    keys: pa.Array
    elements: StoredElements


class BatchJoin:
    """Joins the records of a batch with retained records, and stores the records of the batch.

    The latest records are in the store's tail, in memory. Older records may be in rows of the
    store, which are read by key.

    Args:
        rows: The rows of the store.
        columns: Columnar access to the rows.
        tail: The tail of the store.
        setup: The time spans of the join.
        keeps: Whether unmatched records of the left and of the right side are forwarded.
        inputs: The records of the batch.
        end: The stream time after the batch, ms.

    Attributes:
        sides: The number of sides: 1 for a self-join.
        setup: The time spans of the join.
        arrivals: The batch's records in the order of their positions.
    """

    sides: ClassVar[int] = 2

    def __init__(
        self,
        rows: JoinRows[Any, Any, Any],
        columns: JoinColumns,
        tail: JoinTail,
        setup: Setup,
        keeps: tuple[bool, bool],
        inputs: JoinInput,
        end: int,
    ) -> None:
        self._rows, self._columns, self.setup = rows, columns, setup
        self._inputs, self._tail, self._end = inputs, tail, end
        self._clocks = rows.clocks()
        self._row_limits = tail.row_limits()
        self._own = np.flatnonzero(inputs.codes >= 0)
        self.arrivals = Arrivals.of(
            inputs.sides, inputs.codes, inputs.times, inputs.stream, self._clocks
        )
        self._kept = np.array(keeps)
        self._keeps = keeps

    def run(self) -> Outcome:
        """Join the batch, and return the results."""
        inputs, own, end = self._inputs, self._own, self._end
        due = (
            self._columns.take_open(end) if self._row_limits.has_rows and any(self._keeps) else None
        )
        keys, codes = self._all_keys(due)
        stored = self._read(keys, due, codes)
        there = np.flatnonzero(~self._is_gone(stored.sides[stored.elements.rows], stored.elements))
        tail = self._tail.read()
        keys, near = self._near(keys, tail.elements)
        before = stored.elements.take(there).with_more(near.elements.stored())
        count, rows = len(before.times), len(there)
        known = Known(
            np.concatenate(
                (stored.sides[stored.elements.rows[there]], near.elements.sides, inputs.sides[own])
            ),
            np.concatenate(
                (stored.codes[stored.elements.rows[there]], near.codes, inputs.codes[own])
            ),
            np.concatenate((before.times, inputs.times[own])),
            np.concatenate((np.full(count, -1), own)),
            np.concatenate((before.fates == WAITING, np.zeros(len(own), bool))),
        )
        met = self.meet(known)
        settled = met.settled < NEVER
        paired = np.zeros(len(inputs.codes), bool)
        paired[met.places] = True
        alone, waits, remembered, late = self._fates(paired[own])
        waits &= ~settled[count:]
        closes = inputs.times[own] + self._delays(inputs.sides[own])
        fresh = np.flatnonzero(waits & (closes < end))
        old, old_closes, old_headers = self._due(due, codes, stored, there, met)
        ended = near.ends & ~settled[rows:count]
        self._settle(stored, there, settled[:rows])
        clocks = self._advanced(int(remembered.sum()))
        self._remember(tail, near, settled[rows:count], remembered, waits, clocks)
        return Outcome(
            known,
            met,
            count + np.flatnonzero(alone),
            np.concatenate((old, rows + np.flatnonzero(ended), count + fresh)),
            np.concatenate((old_closes, near.closes[ended], closes[fresh])),
            self._headers(old_headers, near, ended, own[fresh]),
            late,
            keys,
            before,
        )

    def meet(self, known: Known) -> Met:
        """Return the matched pairs of known records."""
        return meet(self.arrivals, known, self.setup, self._clocks, self._keeps)

    def _fates(self, paired: Bools) -> tuple[Bools, Bools, Bools, int]:
        """Return three masks of the batch's records, and the number of late records.

        The masks select records that are forwarded unmatched now, wait for a partner, and are
        stored. `paired` is the mask of the batch's records that have a partner.
        """
        inputs, own, setup = self._inputs, self._own, self.setup
        sides, times, stream = inputs.sides[own], inputs.times[own], inputs.stream[own]
        kept = self._kept[sides] & ~paired
        final = times < final_times(stream, sides, setup, self._clocks)
        recent = times >= self.arrivals.newest_of(sides, own) - setup.memory
        has_closed = times + self._delays(sides) < stream
        late = ~paired & ~self._kept[sides] & (has_closed | ~recent)
        waits = kept & ~final
        return kept & final, waits, waits | (recent & ~(kept & final)), int(late.sum())

    def _delays(self, sides: Ints) -> Ints:
        delays: Ints = np.array([self.setup.close(0, 0), self.setup.close(1, 0)])[sides]
        return delays

    def _is_gone(self, sides: Ints, elements: StoredElements | Elements) -> Bools:
        """Return the mask of unmatched elements that an earlier batch has forwarded."""
        finals = np.array([self._clocks.final_left, self._clocks.final_right])
        gone: Bools = (elements.fates == WAITING) & (elements.times < finals[sides])
        return gone

    def _near(self, keys: pa.Array, elements: Elements) -> tuple[pa.Array, Near]:
        """Return `keys` with further keys appended, and the tail's records that the batch needs.

        These are the records with one of `keys`, and unmatched records of other keys whose window
        closes in this batch.
        """
        codes = pc.index_in(elements.keys, value_set=keys).fill_null(-1).to_numpy()
        codes = codes.astype(np.int64)
        closes = elements.times + self._delays(elements.sides)
        ends = (elements.fates == WAITING) & self._kept[elements.sides] & (closes < self._end)
        places = np.flatnonzero(((codes >= 0) | ends) & ~self._is_gone(elements.sides, elements))
        codes = codes[places]
        others = np.flatnonzero(codes < 0)
        codes[others] = len(keys) + np.arange(len(others))
        if len(others):
            keys = pa.concat_arrays([keys, elements.keys.take(pa.array(places[others]))])
        return keys, Near(places, codes, elements.take(places), closes[places], ends[places])

    def _all_keys(self, due: OpenEntries | None) -> tuple[pa.Array, Ints]:
        """Return the distinct keys of the batch and of `due`, and the key numbers of `due`.

        `due` contains the stored waiting records whose window closes in this batch, or is None. The
        key number of a record is the index of its key in the returned keys.
        """
        stored = self._inputs.keys.stored
        if due is None or not due.keys:
            return stored, np.zeros(0, np.int64)
        both = pa.concat_arrays([stored, pa.array(due.keys, pa.binary())]).dictionary_encode()
        return both.dictionary, both.indices.to_numpy()[len(stored) :].astype(np.int64)

    def _read(self, keys: pa.Array, due: OpenEntries | None, codes: Ints) -> Stored:
        """Read the stored rows that may contain partners of the batch's records, or `due` records.

        `keys` and `codes` are the two results of `_all_keys(due)`.
        """
        inputs, setup, own, width = self._inputs, self.setup, self._own, self.setup.width
        if not self._row_limits.has_rows:
            own = own[:0]
        others = 1 - inputs.sides[own] if self.sides == 2 else inputs.sides[own]
        times = inputs.times[own]
        memory = self.arrivals.newest_of(others, own) - setup.memory
        newest = np.array(self._row_limits[:2])
        firsts = np.maximum(times - np.where(others, setup.before, setup.after), memory) // width
        ahead = times + np.where(others, setup.after, setup.before)
        lasts = np.minimum(ahead, newest[others]) // width
        none = np.zeros(0, np.int64)
        parts = [(none, none, none)]
        for step in range(int((lasts - firsts).max(initial=-1)) + 1):
            some = firsts + step <= lasts
            parts.append((others[some], firsts[some] + step, inputs.codes[own][some]))
        if due is not None and len(codes):
            parts.append((due.sides, due.times // width, codes))
        sides, buckets, all_codes = map(np.concatenate, zip(*parts, strict=True))
        ranks = np.unique(buckets, return_inverse=True)[1]
        packed = (ranks * 2 + sides) * max(1, len(keys)) + all_codes
        places = np.unique(packed, return_index=True)[1]
        handles = self._columns.handles(
            sides[places], buckets[places], keys.take(pa.array(all_codes[places]))
        )
        elements = self._columns.read(handles)
        return Stored(handles, all_codes[places], sides[places], buckets[places], elements)

    def _due(
        self,
        due: OpenEntries | None,
        codes: Ints,
        stored: Stored,
        there: Ints,
        met: Met,
    ) -> tuple[Ints, Ints, list[bytes]]:
        """Return the stored records whose window closes in this batch without a partner.

        Returns their indexes in `there`, closing times (ms) and headers.

        Args:
            due: The stored waiting records whose window closes in this batch, if any.
            codes: The key numbers of the due records.
            stored: The rows that were read.
            there: The indexes of the records of `stored` that can still have a partner.
            met: The matched pairs.
        """
        none = np.zeros(0, np.int64)
        elements = stored.elements.take(there)
        if due is None or not len(codes) or not len(there):
            return none, none, []
        order = np.argsort(elements.numbers, kind="stable")
        spots = np.searchsorted(elements.numbers[order], due.numbers)
        spots = order[np.minimum(spots, len(order) - 1)]
        same = (elements.numbers[spots] == due.numbers) & (elements.times[spots] == due.times)
        same &= (stored.codes[elements.rows[spots]] == codes) & self._kept[due.sides]
        same &= stored.sides[elements.rows[spots]] == due.sides
        same &= met.settled[spots] == NEVER
        found = np.flatnonzero(same)
        return spots[found], due.closes[found], [due.headers[each] for each in found.tolist()]

    def _headers(self, old: list[bytes], near: Near, ended: Bools, fresh: Ints) -> pa.Array:
        """Return the headers of closed records, in the order: stored rows, tail, batch.

        Args:
            old: The encoded headers of closed records in stored rows.
            near: Records of the tail.
            ended: The mask of closed records of `near`.
            fresh: The row numbers of closed records of the batch.
        """
        waited = near.elements.headers
        count = int(ended.sum())
        tail = [b""] * count if waited is None else objects_of(waited.filter(pa.array(ended)))
        known = headers_array([read_headers(data) for data in (*old, *tail)])
        return pa.concat_arrays([known, self._inputs.headers(fresh)])

    def _settle(self, stored: Stored, there: Ints, settled: Bools) -> None:
        """Mark the `settled` records of `there` as matched, except in rows that have expired.

        `there` contains indexes of records of `stored`, and `settled` one bool per index.
        """
        elements = stored.elements
        fates = elements.fates.copy()
        fates[there[settled]] = SETTLED
        changed = np.zeros(len(stored.handles), bool)
        changed[elements.rows[fates != elements.fates]] = True
        newest = np.array([int(known[-1]) for known in self.arrivals.newest])
        changed &= stored.buckets >= (newest[stored.sides] - self.setup.memory) // self.setup.width
        ids = np.flatnonzero(changed)
        if len(ids):
            found = replace(elements, fates=fates).take(np.flatnonzero(changed[elements.rows]))
            handles = [stored.handles[row] for row in ids.tolist()]
            self._columns.write(handles, replace(found, rows=np.searchsorted(ids, found.rows)))

    def _remember(
        self,
        tail: Tail,
        near: Near,
        settled: Bools,
        remembered: Bools,
        waits: Bools,
        clocks: Clocks,
    ) -> None:
        """Add the batch's records to the tail, and remove records that have expired.

        Records that expire in the batch are never stored.

        Args:
            tail: The tail as read for this batch.
            near: Records of the tail.
            settled: The mask of records of `near` that have a partner.
            remembered: The mask of the batch's records that are stored.
            waits: The mask of the batch's records that wait for a partner.
            clocks: The join's `Clocks` after the batch.
        """
        inputs, own = self._inputs, self._own
        numbers = np.cumsum(remembered) - 1 + self._clocks.number
        lasting = self._tail.lasting(inputs.sides[own], inputs.times[own], waits, clocks)
        places = np.flatnonzero(remembered & lasting)
        places = places[np.argsort(inputs.sides[own[places]], kind="stable")]
        rows = own[places]
        fresh = Elements(
            inputs.sides[rows],
            inputs.keys.stored.take(pa.array(inputs.codes[rows])),
            inputs.times[rows],
            numbers[places],
            waits[places].astype(np.int64),
            inputs.value_bytes(rows),
            inputs.header_bytes(rows, waits[places]),
        )
        partnered = np.zeros(len(tail.elements), bool)
        partnered[near.places[settled & (near.elements.fates == WAITING)]] = True
        if not any(self._keeps):  # an outer join has left them
            partnered |= tail.elements.fates == WAITING
        self._tail.advance(tail, partnered, fresh, clocks)

    def _advanced(self, count: int) -> Clocks:
        """Store and return the join's `Clocks` after a batch that stores `count` records."""
        clocks, (left, right) = self._clocks, self.arrivals.newest
        finals = clocks.final_left, clocks.final_right
        if any(self._keeps):
            setup, end = self.setup, self._end
            finals = (
                max(finals[0], end - setup.close(0, 0)),
                max(finals[1], end - setup.close(1, 0)),
            )
        found = Clocks(clocks.number + count, int(left[-1]), int(right[-1]), *finals)
        self._rows.set_clocks(found)
        return found
