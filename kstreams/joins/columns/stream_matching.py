"""Matching of two streams' records by columns: those of a batch and of the store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kstreams._types import Bools, Ints
from kstreams.columns.near import near_pairs
from kstreams.state.stores.join.setup import Clocks, Setup
from kstreams.times import FAR_MS

__all__ = ("NEVER", "Arrivals", "Known", "Met", "final_times", "meet", "meet_itself")

NEVER = 1 << 62
"""The place of an event that does not happen."""


@dataclass(frozen=True)
class Arrivals:
    """The records of a batch in the order of their places, each with a value.

    Attributes:
        sides: 0 left, 1 right.
        codes: The number of each key; -1 for a null key.
        times: Timestamps, ms.
        stream: The task's stream time as of each, ms.
        newest: By side, the newest record of it before each record, and after all, ms.
    """

    sides: Ints
    codes: Ints
    times: Ints
    stream: Ints
    newest: tuple[Ints, Ints]

    @classmethod
    def of(cls, sides: Ints, codes: Ints, times: Ints, stream: Ints, clocks: Clocks) -> Arrivals:
        """Return records that follow those in the clocks."""
        newest = []
        for side in (0, 1):
            own = np.where((sides == side) & (codes >= 0), times, -FAR_MS)
            newest.append(np.maximum.accumulate(np.append([clocks.newest(side)], own)))
        return cls(sides, codes, times, stream, (newest[0], newest[1]))

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.sides)

    def newest_of(self, sides: Ints, places: Ints) -> Ints:
        """Return the newest records of sides before places."""
        return np.where(sides == 0, self.newest[0][places], self.newest[1][places])


@dataclass(frozen=True)
class Known:
    """Records that can be met: those of the store, at place -1, then those of the batch.

    Attributes:
        sides: 0 left, 1 right.
        codes: The numbers of their keys.
        times: Timestamps, ms.
        places: Their places in the batch.
        waits: Whether a stored one waits.
    """

    sides: Ints
    codes: Ints
    times: Ints
    places: Ints
    waits: Bools


@dataclass(frozen=True)
class Met:
    """Pairs of known records, and their effects.

    Attributes:
        left: The left record of each pair.
        right: The right record.
        earlier: The record of each pair that was known before.
        places: The place of the other record.
        settled: The place since which a known record has had a partner; -1 if it arrived with one.
        turns: The order of the pairs of a record: 0, and in a self-join 1 for its pairs as a right
            record.
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
    """Return the pairs that records make.

    A record finds what its other side remembers at its place. A kept one that had no partner
    by its closing has gone out, and is not found any more: whether it had one may depend on
    another pair, so such late pairs, which are few, are gone through one by one.
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
    """Return the pairs that records of one stream make with each other, and with themselves.

    A record that comes later than the memory of the join has no pair with itself.
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
    """Return, at stream times, before which time records of sides have gone out."""
    delays = np.array([setup.close(0, 0), setup.close(1, 0)])
    known = np.array([clocks.final_left, clocks.final_right])
    finals: Ints = np.maximum(stream - delays[sides], known[sides])
    return finals


def _candidates(known: Known, setup: Setup) -> tuple[Ints, Ints]:
    """Return pairs that are near enough, of which one at least is of the batch."""
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
