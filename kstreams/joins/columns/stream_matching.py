"""Columnar matching of two streams' records, both new and stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kstreams._types import Bools, Ints
from kstreams.columns.near import near_pairs
from kstreams.state.stores.join.setup import Clocks, Setup
from kstreams.times import FAR_MS

__all__ = ("NEVER", "Arrivals", "Known", "Met", "final_times", "meet", "meet_itself")

NEVER = 1 << 62
"""The batch position of an event that does not happen."""


@dataclass(frozen=True)
class Arrivals:
    """The records of a batch, in the order of their positions.

    Attributes:
        sides: The side of each record: 0 left, 1 right.
        codes: The key number of each record; negative for a null key or value.
        times: Timestamps, ms.
        stream: The task's stream time as of each record, ms.
        newest: For each side, its newest timestamp before each record, and after the last record,
            ms.
    """

    sides: Ints
    codes: Ints
    times: Ints
    stream: Ints
    newest: tuple[Ints, Ints]

    @classmethod
    def of(cls, sides: Ints, codes: Ints, times: Ints, stream: Ints, clocks: Clocks) -> Arrivals:
        """Create the arrivals, which continue from the stored clocks of the join."""
        newest = []
        for side in (0, 1):
            own = np.where((sides == side) & (codes >= 0), times, -FAR_MS)
            newest.append(np.maximum.accumulate(np.append([clocks.newest(side)], own)))
        return cls(sides, codes, times, stream, (newest[0], newest[1]))

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.sides)

    def newest_of(self, sides: Ints, places: Ints) -> Ints:
        """Return the newest timestamp (ms) of each given side before each given position."""
        return np.where(sides == 0, self.newest[0][places], self.newest[1][places])


@dataclass(frozen=True)
class Known:
    """Records that can be matched: first stored records, then records of the batch.

    Attributes:
        sides: The side of each record: 0 left, 1 right.
        codes: The key number of each record.
        times: Timestamps, ms.
        places: The batch position of each record; -1 if it is stored.
        waits: Whether a record is stored and waits for a partner.
    """

    sides: Ints
    codes: Ints
    times: Ints
    places: Ints
    waits: Bools


@dataclass(frozen=True)
class Met:
    """Matched pairs, as indexes into the known records.

    Attributes:
        left: The left record of each pair.
        right: The right record of each pair.
        earlier: In each pair, the record that arrived first.
        places: In each pair, the batch position of the record that arrived second.
        settled: For each known record, the batch position at which it first had a partner; -1 if
            that was in an earlier batch.
        turns: The sort order among the pairs of one record: 1 if the record is the right one of a
            self-join's pair, otherwise 0.
    """

    left: Ints
    right: Ints
    earlier: Ints
    places: Ints
    settled: Ints
    turns: Ints


def meet(
    arrivals: Arrivals,
    known: Known,
    setup: Setup,
    clocks: Clocks,
    keeps: tuple[bool, bool],
) -> Met:
    """Return the matched pairs of known records.

    An arriving record matches the records that the other side still retains. A record that was
    forwarded unmatched when its window closed is not matched again. Pairs with a record whose
    window has closed are rare; they are checked one by one, because earlier pairs decide whether
    the record was forwarded.

    Args:
        arrivals: The records of the batch.
        known: The stored records and the records of the batch.
        setup: The time spans of the join.
        clocks: The newest record times of both sides, and the times up to which their unmatched
            records were forwarded, before the batch.
        keeps: Whether unmatched records of the left and of the right side are forwarded.
    """
    left, right = _candidates(known, setup)
    is_later = known.places[left] > known.places[right]
    earlier, later = np.where(is_later, right, left), np.where(is_later, left, right)
    places = known.places[later]
    sides = known.sides[earlier]
    times = known.times[earlier]
    seen = times >= arrivals.newest_of(sides, places) - setup.memory
    settled = np.where(known.waits | (known.places >= 0), NEVER, -1)
    kept = np.array(keeps)
    doubtful = np.zeros(len(left), bool)
    if kept.any():
        finals = final_times(arrivals.stream[places], sides, setup, clocks)
        doubtful = kept[sides] & (times < finals) & (settled[earlier] == NEVER)
    sure = seen & ~doubtful
    for ends in (earlier, later):
        np.minimum.at(settled, ends[sure], places[sure])
    late = np.flatnonzero(seen & doubtful)
    for pair in late[np.argsort(places[late], kind="stable")].tolist():
        place = places[pair]
        if settled[earlier[pair]] < place:
            sure[pair] = True
            settled[later[pair]] = min(settled[later[pair]], place)
    found = np.flatnonzero(sure)
    turns = np.zeros(len(found), np.int64)
    return Met(left[found], right[found], earlier[found], places[found], settled, turns)


def meet_itself(arrivals: Arrivals, known: Known, setup: Setup) -> Met:
    """Return the pairs of a self-join, including pairs of a record with itself.

    A record older than the join's retention is not paired with itself.
    """
    reach = max(setup.before, setup.after)
    fresh, stored = np.flatnonzero(known.places >= 0), np.flatnonzero(known.places < 0)
    found = []
    for others in (stored, fresh):
        one, other = near_pairs(
            (known.codes[fresh], known.times[fresh]),
            (known.codes[others], known.times[others]),
            reach,
            reach,
        )
        found.append((fresh[one], others[other]))
    later, earlier = (np.concatenate(parts) for parts in zip(*found, strict=True))
    places = known.places[later]
    newest = arrivals.newest_of(np.zeros(len(places), np.int64), places)
    seen = (known.places[earlier] < places) & (known.times[earlier] >= newest - setup.memory)
    later, earlier = later[seen], earlier[seen]
    ahead = known.times[earlier] - known.times[later]
    as_left = np.flatnonzero((ahead >= -setup.before) & (ahead <= setup.after))
    as_right = np.flatnonzero((ahead <= setup.before) & (ahead >= -setup.after))
    newest = arrivals.newest_of(np.zeros(len(fresh), np.int64), known.places[fresh])
    itself = fresh[known.times[fresh] >= newest - setup.memory]
    own = np.concatenate((later[as_left], later[as_right], itself))
    other = np.concatenate((earlier[as_left], earlier[as_right], itself))
    is_left = np.arange(len(own)) < len(as_left)
    turns = np.where(is_left, 0, 1)
    return Met(
        np.where(is_left, own, other),
        np.where(is_left, other, own),
        other,
        known.places[own],
        np.full(len(known.times), NEVER),
        turns,
    )


def final_times(stream: Ints, sides: Ints, setup: Setup, clocks: Clocks) -> Ints:
    """Return, for each stream time, the record time (ms) before which join windows have closed.

    Unmatched records before that time have been forwarded.

    Args:
        stream: The stream times, ms.
        sides: For each stream time, the side of the records: 0 left, 1 right.
        setup: The time spans of the join.
        clocks: The times up to which unmatched records were forwarded before the batch.
    """
    delays = np.array([setup.close(0, 0), setup.close(1, 0)])
    known = np.array([clocks.final_left, clocks.final_right])
    finals: Ints = np.maximum(stream - delays[sides], known[sides])
    return finals


def _candidates(known: Known, setup: Setup) -> tuple[Ints, Ints]:
    """Return pairs with equal keys, within the window, of which one record is in the batch."""
    lefts, rights = np.flatnonzero(known.sides == 0), np.flatnonzero(known.sides == 1)
    fresh = known.places >= 0
    found = []
    for ones, others in (
        (lefts[fresh[lefts]], rights),
        (lefts[~fresh[lefts]], rights[fresh[rights]]),
    ):
        one, other = near_pairs(
            (known.codes[ones], known.times[ones]),
            (known.codes[others], known.times[others]),
            setup.before,
            setup.after,
        )
        found.append((ones[one], others[other]))
    return (
        np.concatenate([left for left, _ in found]),
        np.concatenate([right for _, right in found]),
    )
