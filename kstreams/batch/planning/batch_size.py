"""The maximum number of records and bytes of a batch, and their division among partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from kstreams.ids import TopicPartition

__all__ = ("RecordSizes", "fitting", "share")

P = TypeVar("P")
"""The type that identifies a partition."""

_UNSEEN_BYTES = 1024.0
"""The assumed bytes of a record before any record of its partition was read."""


class RecordSizes:
    """The mean size of records of each source partition, as measured by batches.

    Sizes are kept only in memory: after a wrong estimate, the batch is planned again.

    Args:
        look: Returns the mean bytes of records at the next offset of an unread partition; None if
            the size is unknown.
    """

    def __init__(self, look: Callable[[TopicPartition, int], float | None]) -> None:
        self._look = look
        self._means: dict[TopicPartition, float] = {}

    def of(self, place: TopicPartition, offset: int) -> float:
        """Return the mean bytes of a partition's records; an assumed size if it is unknown."""
        if place not in self._means:
            found = self._look(place, offset)
            if found is None:
                return _UNSEEN_BYTES
            self._means[place] = found
        return self._means[place]

    def saw(self, place: TopicPartition, records: int, size: int) -> None:
        """Update a partition's mean size from records that a batch has read.

        `records` is the number of records, `size` their total bytes. The mean rises immediately,
        because too large batches fail. If records are smaller, each call halves the difference.
        """
        if records:
            mean, before = size / records, self._means.get(place, 0.0)
            self._means[place] = max(mean, (mean + before) / 2)


def share(lags: Mapping[P, int], total: int) -> dict[P, int]:
    """Divide a number of records among partitions in proportion to their lags.

    So partitions that cover an equal span of time advance equally in time, whatever their sizes: no
    partition advances stream time ahead of the others, and the largest is not read last. Each
    partition gets at least one record.
    """
    lag_sum = sum(lags.values())
    if lag_sum <= total:
        return dict(lags)
    return {place: max(lag * total // lag_sum, 1) for place, lag in lags.items()}


def fitting(
    counts: Mapping[P, int], means: Mapping[P, float], limit: int, *, turn: int = 0
) -> dict[P, int]:
    """Return the number of records of each partition that together fit into a number of bytes.

    The numbers are in proportion to the available records, with at least one record in total,
    however large. Partitions whose share is below one record get a record in turn.

    Args:
        counts: The number of available records, by partition.
        means: The mean bytes of a record, by partition.
        limit: The maximum bytes.
        turn: The number of earlier calls.

    Returns:
        The number of records, by partition; only partitions with records.
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
