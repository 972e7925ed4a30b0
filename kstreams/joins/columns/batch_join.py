"""One batch of a join of streams by columns: rows read, pairs made, rows written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams._types import Bools, Ints
from kstreams.joins.columns.came import Came
from kstreams.joins.columns.meeting import NEVER, Arrivals, Known, Met, final_times, meet
from kstreams.state.stores.join.columns import (
    JoinColumns,
    OpenEntries,
    StoredElements,
    bytes_array,
)
from kstreams.state.stores.join.rows import Clocks, JoinRows, Setup

__all__ = ("BatchJoin", "Outcome", "Stored")


@dataclass(frozen=True)
class Stored:
    """What the store has of the rows that a batch may need.

    Attributes:
        handles: The rows.
        codes: The number of each row's key, those beyond the batch's among them.
        sides: Their sides.
        buckets: Their time buckets.
        elements: What is in them.
        own: The row that each of the batch's records belongs to.
    """

    handles: list[bytes]
    codes: Ints
    sides: Ints
    buckets: Ints
    elements: StoredElements
    own: Ints


@dataclass(frozen=True)
class Outcome:
    """What a batch makes the join forward, as known records: stored ones, then the batch's.

    Attributes:
        known: The records.
        met: Their pairs.
        alone: Records of the batch that go out when they come.
        closed: Known records that go out later, without a partner.
        closes: What stream time must pass for that, ms.
        late: How many records were too late for anything.
        keys: All keys by number, as the store has them.
        elements: The stored ones' contents.
    """

    known: Known
    met: Met
    alone: Ints
    closed: Ints
    closes: Ints
    late: int
    keys: pa.Array
    elements: StoredElements


class BatchJoin:
    """Joins a batch's records with what the store remembers, and lets it remember them.

    Args:
        rows: The store's rows.
        columns: The same by columns.
        setup: The join's spans.
        keeps: Whether records of a side go out alone, left and right.
        came: The records.
    """

    def __init__(
        self,
        rows: JoinRows[Any, Any, Any],
        columns: JoinColumns,
        setup: Setup,
        keeps: tuple[bool, bool],
        came: Came,
    ) -> None:
        self._rows, self._columns, self._setup, self._keeps = rows, columns, setup, keeps
        self._came = came
        self._clocks = rows.clocks()
        self._own = np.flatnonzero(came.codes >= 0)
        self._arrivals = Arrivals.of(came.sides, came.codes, came.times, came.stream, self._clocks)
        self._kept = np.array(keeps)

    def run(self) -> Outcome:
        """Join the batch; return what it makes the join forward."""
        came, setup, clocks, own = self._came, self._setup, self._clocks, self._own
        end = int(came.stream[-1])
        due = self._columns.take_open(end) if self._kept.any() else None
        keys, codes = self._all_keys(due)
        stored = self._read(keys, due, codes)
        elements = stored.elements
        sides = stored.sides[elements.rows]
        finals = np.array([clocks.final_left, clocks.final_right])
        gone = (elements.fates == 1) & (elements.times < finals[sides])
        there = np.flatnonzero(~gone)
        known = Known(
            np.concatenate((sides[there], came.sides[own])),
            np.concatenate((stored.codes[elements.rows[there]], came.codes[own])),
            np.concatenate((elements.times[there], came.times[own])),
            np.concatenate((np.full(len(there), -1), own)),
            np.concatenate((elements.fates[there] == 1, np.zeros(len(own), bool))),
        )
        met = meet(self._arrivals, known, setup, clocks, self._keeps)
        count = len(there)
        paired = np.zeros(len(came.codes), bool)
        paired[met.places] = True
        alone, waits, remembered, late = self._fates(paired[own])
        number = np.cumsum(remembered) - 1 + clocks.number
        settled = met.settled[count:] < NEVER
        open_now = waits & ~settled
        closes = came.times[own] + self._delays(came.sides[own])
        fresh = np.flatnonzero(open_now & (closes < end))
        old, old_closes = self._due(due, codes, stored, there, met)
        still = open_now & (closes >= end)
        self._write(stored, there, met.settled[:count] < NEVER, remembered, number, open_now)
        if still.any():
            places = np.flatnonzero(still)
            self._columns.put_open(
                closes[places],
                came.sides[own[places]],
                came.times[own[places]],
                number[places],
                keys.take(pa.array(came.codes[own[places]])),
            )
        self._advance(int(remembered.sum()), end)
        return Outcome(
            known,
            met,
            count + np.flatnonzero(alone),
            np.concatenate((old, count + fresh)),
            np.concatenate((old_closes, closes[fresh])),
            late,
            keys,
            elements.take(there),
        )

    def _fates(self, paired: Bools) -> tuple[Bools, Bools, Bools, int]:
        """Return who goes out at once, who waits, who is remembered, and how many are late."""
        came, own, setup = self._came, self._own, self._setup
        sides, times, stream = came.sides[own], came.times[own], came.stream[own]
        kept = self._kept[sides] & ~paired
        final = times < final_times(stream, sides, setup, self._clocks)
        recent = times > self._arrivals.newest_of(sides, own) - setup.memory
        late = ~paired & ~self._kept[sides] & ((times < stream - setup.grace) | ~recent)
        waits = kept & ~final
        return kept & final, waits, waits | (recent & ~(kept & final)), int(late.sum())

    def _delays(self, sides: Ints) -> Ints:
        delays: Ints = np.array([self._setup.close(0, 0), self._setup.close(1, 0)])[sides]
        return delays

    def _all_keys(self, due: OpenEntries | None) -> tuple[pa.Array, Ints]:
        """Return the batch's keys and those of entries that are due, and these by number."""
        stored = self._came.keys.stored
        if due is None or not due.keys:
            return stored, np.zeros(0, np.int64)
        both = pa.concat_arrays([stored, pa.array(due.keys, pa.binary())]).dictionary_encode()
        return both.dictionary, both.indices.to_numpy()[len(stored) :].astype(np.int64)

    def _read(self, keys: pa.Array, due: OpenEntries | None, codes: Ints) -> Stored:
        """Read the rows in which partners may be, those of what is due, and the batch's own."""
        came, setup, own, width = self._came, self._setup, self._own, self._setup.width
        sides, times = came.sides[own], came.times[own]
        others = 1 - sides
        back = np.where(sides == 0, setup.before, setup.after)
        ahead = np.where(sides == 0, setup.after, setup.before)
        memory = self._arrivals.newest_of(others, own) - setup.memory + 1
        newest = np.array([self._clocks.newest_left, self._clocks.newest_right])
        firsts = np.maximum(times - back, memory) // width
        lasts = np.minimum(times + ahead, newest[others]) // width
        parts = [(sides, times // width, came.codes[own])]
        for step in range(int((lasts - firsts).max(initial=-1)) + 1):
            some = firsts + step <= lasts
            parts.append((others[some], firsts[some] + step, came.codes[own][some]))
        if due is not None and len(codes):
            parts.append((due.sides, due.times // width, codes))
        all_sides, buckets, all_codes = map(np.concatenate, zip(*parts, strict=True))
        ranks = np.unique(buckets, return_inverse=True)[1]
        packed = (ranks * 2 + all_sides) * max(1, len(keys)) + all_codes
        _, places, rows = np.unique(packed, return_index=True, return_inverse=True)
        handles = self._columns.handles(
            all_sides[places], buckets[places], keys.take(pa.array(all_codes[places]))
        )
        is_read = buckets[places] <= newest[all_sides[places]] // width
        found = np.flatnonzero(is_read)
        elements = self._columns.read([handles[row] for row in found.tolist()])
        return Stored(
            handles,
            all_codes[places],
            all_sides[places],
            buckets[places],
            StoredElements(found[elements.rows], *_contents(elements)),
            rows[: len(own)],
        )

    def _due(
        self,
        due: OpenEntries | None,
        codes: Ints,
        stored: Stored,
        there: Ints,
        met: Met,
    ) -> tuple[Ints, Ints]:
        """Return the known records that entries stand for and that had no partner, and closes."""
        none = np.zeros(0, np.int64)
        elements = stored.elements.take(there)
        if due is None or not len(codes) or not len(there):
            return none, none
        order = np.argsort(elements.numbers, kind="stable")
        spots = np.searchsorted(elements.numbers[order], due.numbers)
        spots = order[np.minimum(spots, len(order) - 1)]
        same = (elements.numbers[spots] == due.numbers) & (elements.times[spots] == due.times)
        same &= (stored.codes[elements.rows[spots]] == codes) & self._kept[due.sides]
        same &= stored.sides[elements.rows[spots]] == due.sides
        same &= met.settled[spots] == NEVER
        found = np.flatnonzero(same)
        return spots[found], due.closes[found]

    def _write(
        self,
        stored: Stored,
        there: Ints,
        settled: Bools,
        remembered: Bools,
        numbers: Ints,
        waits: Bools,
    ) -> None:
        """Write the rows that records come into, and those in which some have had a partner.

        What is forgotten by the end of the batch never reaches the store.
        """
        came, own, elements, setup = self._came, self._own, stored.elements, self._setup
        fates = elements.fates.copy()
        fates[there] = np.where(settled, 0, fates[there])
        changed = np.zeros(len(stored.handles), bool)
        changed[elements.rows[fates != elements.fates]] = True
        changed[stored.own[remembered]] = True
        newest = np.array([int(known[-1]) for known in self._arrivals.newest])
        changed &= stored.buckets >= (newest[stored.sides] - setup.memory) // setup.width
        kept = np.flatnonzero(changed[elements.rows])
        fresh = np.flatnonzero(remembered & changed[stored.own])
        rows = np.concatenate((elements.rows[kept], stored.own[fresh]))
        every = np.concatenate((elements.numbers[kept], numbers[fresh]))
        order = np.lexsort((every, rows))
        ids = np.flatnonzero(changed)
        if not len(ids):
            return
        values = np.concatenate((elements.values[kept], came.value_bytes(own[fresh])))
        self._columns.write(
            [stored.handles[row] for row in ids.tolist()],
            StoredElements(
                np.searchsorted(ids, rows[order]),
                np.concatenate((elements.times[kept], came.times[own[fresh]]))[order],
                every[order],
                np.concatenate((fates[kept], waits[fresh].astype(np.int64)))[order],
                values[order] if len(values) else bytes_array([]),
            ),
        )

    def _advance(self, count: int, end: int) -> None:
        """Say how far the join has come."""
        clocks, (left, right) = self._clocks, self._arrivals.newest
        finals = clocks.final_left, clocks.final_right
        if self._kept.any():
            setup = self._setup
            finals = (
                max(finals[0], end - setup.close(0, 0)),
                max(finals[1], end - setup.close(1, 0)),
            )
        self._rows.set_clocks(Clocks(clocks.number + count, int(left[-1]), int(right[-1]), *finals))


def _contents(elements: StoredElements) -> tuple[Ints, Ints, Ints, Any]:
    return elements.times, elements.numbers, elements.fates, elements.values
