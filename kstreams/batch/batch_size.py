"""How many records and bytes a batch may read, and how partitions share them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from kstreams.ids import TopicPartition

__all__ = ("RecordSizes", "fitting", "share")

P = TypeVar("P")
"""What names a partition."""

_UNSEEN_BYTES = 1024.0
"""How large a record is taken to be before any of its partition was seen."""


class RecordSizes:
    """How large the records of each source partition are, as far as batches have shown.

    Kept in memory alone: a wrong guess costs a batch that is planned again.

    Args:
        look: Finds out about a partition of which no record was seen, by it
            and the offset where reading goes on; None where that is not known.
    """

    def __init__(self, look: Callable[[TopicPartition, int], float | None]) -> None:
        self._look = look
        self._means: dict[TopicPartition, float] = {}

    def of(self, place: TopicPartition, offset: int) -> float:
        """Return how many bytes a record of a partition has, on average."""
        if place not in self._means:
            found = self._look(place, offset)
            if found is None:
                return _UNSEEN_BYTES
            self._means[place] = found
        return self._means[place]

    def saw(self, place: TopicPartition, records: int, size: int) -> None:
        """Take in how many bytes some records of a partition had.

        The mean rises at once, since a batch too large is what hurts, and falls by halves.
        """
        if records:
            mean, before = size / records, self._means.get(place, 0.0)
            self._means[place] = max(mean, (mean + before) / 2)


def share(lags: Mapping[P, int], total: int) -> dict[P, int]:
    """Divide a number of records among partitions in proportion to how far each lags.

    So partitions that hold the same span of time are read in step, however unlike their
    sizes: none of them makes stream time run ahead of the others, and the largest is not
    left to the end. At least one record each.
    """
    lag_sum = sum(lags.values())
    if lag_sum <= total:
        return dict(lags)
    return {place: max(lag * total // lag_sum, 1) for place, lag in lags.items()}


def fitting(
    counts: Mapping[P, int], means: Mapping[P, float], limit: int, *, turn: int = 0
) -> dict[P, int]:
    """Take so many records of each partition that all together have a number of bytes at most.

    In proportion, and one at least in all, however large. Partitions whose proportion is
    less than one record take turns: the next of them goes first.

    Args:
        counts: By partition, how many records there are to take.
        means: By partition, how many bytes a record has.
        limit: Bytes.
        turn: How often this was asked before.

    Returns:
        By partition, how many to take; only those of which any.
    """
    total = sum(count * means[place] for place, count in counts.items())
    if total <= limit:
        return dict(counts)
    taken = {place: int(count * limit / total) for place, count in counts.items()}
    small = [place for place, count in taken.items() if not count]
    if small:
        first = turn % len(small)
        small = small[first:] + small[:first]
        room = max(limit - means[small[0]], 0.0)
        taken = {place: int(count * room / total) for place, count in counts.items()}
        room -= sum(count * means[place] for place, count in taken.items())
        taken[small[0]] = 1
        for place in small[1:]:
            if means[place] <= room:
                taken[place] = 1
                room -= means[place]
    return {place: count for place, count in taken.items() if count}
