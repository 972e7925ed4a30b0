"""The end of a batch in each partition, chosen so that all partitions end at one time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from math import isqrt

from kstreams.ids import TopicPartition
from kstreams.times import LATEST_MS

__all__ = ("Counts", "FirstSince", "TimeCut", "TimeCuts")

Counts = Mapping[TopicPartition, int]
"""The number of offsets to read after the current position, by partition."""

FirstSince = Callable[[Collection[TopicPartition], int], Mapping[tuple[str, int], tuple[int, int]]]
"""The type of `TopicAdmin.first_since`."""

_AIM, _NEARER, _MOST = 0.85, 0.04, 0.97
"""The target load of a batch, its growth while records are even in time, and its maximum."""
_MISSED = 0.03
"""The load of a batch may differ by this from the target and still count as a hit."""
_ENOUGH = (0.6, 0.6, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""The sufficient load of a batch after each number of requests; after that, any load is sufficient.
"""
_SPAN_MS = 60_000
_WIDER = 8
_NO_TIME = -1
_NEVER = LATEST_MS + 1


@dataclass(frozen=True)
class TimeCut:
    """The end of a batch.

    Attributes:
        horizon: A time, ms since the epoch: the batch reads all records before it, as far as the
            ends are known, and no record after it. Some records of exactly this time may be read.
        counts: The number of offsets to read, by partition; without partitions that have none.
        times: By partition, the time of the first record that is not before `horizon`, ms since the
            epoch; without partitions that are read completely.
    """

    horizon: int
    counts: dict[TopicPartition, int]
    times: dict[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Probe:
    """A possible batch: all records before a time.

    Attributes:
        time: The time, ms since the epoch.
        counts: The number of these records, by partition.
        load: The load of a batch with these records; 1 is full.
        times: By partition, the time of the first record that is not before `time`.
        asked: Whether the records were counted by a request for this time.
    """

    time: int
    counts: dict[TopicPartition, int]
    load: float
    times: dict[TopicPartition, int] = field(default_factory=dict)
    asked: bool = True


class TimeCuts:
    """Finds the latest time up to which records of all partitions fit into a batch.

    The records of a partition are ordered by the running maximum of their times, as tasks merge
    them. So the records before a time are those before the first record with this or a later time,
    which `first_since` finds even if records are out of order. If a batch cannot hold all records
    of one time, they are read in the order of the partitions' ranks, also a part of a partition,
    before any later record.

    Results depend only on the arguments of `find`: the state of this object only shortens the next
    search.

    Args:
        first_since: Requests the offsets of all topics at once.
        rank: The sort key of partitions at equal times, as in tasks.
    """

    def __init__(
        self, first_since: FirstSince, rank: Callable[[TopicPartition], tuple[int, ...]]
    ) -> None:
        self._first_since = first_since
        self._rank = rank
        self._before = [_NO_TIME]
        self._span = 1  # the first response has the smallest time
        self._aim = _AIM

    def find(
        self,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        load: Callable[[Counts], float],
        latest: int | None = None,
    ) -> TimeCut:
        """Return the end of a batch.

        Args:
            starts: The first offset to read of each partition with records.
            ends: The offset after the last record.
            load: Returns the load of a batch with the given counts; 1 is full.
            latest: Records of this time or later are not read, ms since the epoch; None: no bound.

        Returns:
            Counts with a load of at most 1, or one record; empty if all records have the maximum
            time or later, or are not before `latest`.
        """
        top = _NEVER if latest is None else min(latest, _NEVER)
        low, high = self._search(starts, ends, load, top)
        counts = low.counts
        filled = high is not None and high.time - low.time <= 1 and low.load < _ENOUGH[0]
        if high is not None and filled:
            counts = self._filled(low, high, load)
        self._remember(low.time, load(counts), filled=filled)
        return TimeCut(low.time, {p: n for p, n in counts.items() if n}, low.times)

    def _search(
        self,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        load: Callable[[Counts], float],
        top: int,
    ) -> tuple[_Probe, _Probe | None]:
        """Return the latest probe with a load of at most 1, and the earliest known larger one.

        A `_Probe` is a possible batch: all records before a time. The second result is None if all
        records fit into a batch. Arguments as for `find`; the time of a probe is at most `top`, in
        ms since the epoch.
        """

        def probe(time: int) -> _Probe:
            found = self._first_since(starts.keys(), time)
            counts, times = dict[TopicPartition, int](), dict[TopicPartition, int]()
            for place, start in starts.items():
                offset, its_time = found.get(place, (ends[place], 0))
                counts[place] = min(max(offset, start), ends[place]) - start
                if offset < ends[place]:
                    times[place] = its_time
            return _Probe(time, counts, load(counts), times)

        nothing = dict.fromkeys(starts, 0)
        before = [_Probe(min(time, top), nothing, 0.0, asked=False) for time in self._before]
        low, high = before.pop(), None
        asked, span = 0, self._span
        guess = top if load(_all(starts, ends)) <= 1 else min(low.time + span, top)
        while True:
            found = probe(guess)
            asked += 1
            if found.load > 1:
                high = found
                while high.time <= low.time:  # late records, or a batch that is planned again
                    low = before.pop()
            else:
                low = replace(found, time=min([top, max([guess, _first(found)])]))
            narrow = high is not None and high.time - low.time <= 1
            if narrow and not low.asked and low.time > _NO_TIME:
                guess = low.time
            elif narrow or low.time >= top or (low.load and _is_enough(low.load, asked)):
                return low, high
            elif high is None:
                guess, span = min(low.time + span, top), span * _WIDER
            else:
                guess = _between(low, high, asked)

    def _filled(
        self, low: _Probe, high: _Probe, load: Callable[[Counts], float]
    ) -> dict[TopicPartition, int]:
        """Return counts of a full batch: those of `low`, and some of the further records of `high`.

        The further records are added by partition rank, until the batch is full.
        """
        counts = dict(low.counts)
        for place in sorted(counts, key=self._rank):
            before, more = counts[place], high.counts[place] - counts[place]
            counts[place] = before + more
            if load(counts) <= 1:
                continue
            fits, too_many = 0, more
            while too_many - fits > 1:
                middle = (fits + too_many) // 2
                counts[place] = before + middle
                fits, too_many = (middle, too_many) if load(counts) <= 1 else (fits, middle)
            counts[place] = before + fits
            if not any(counts.values()):
                counts[place] = 1
            break
        return counts

    def _remember(self, horizon: int, load: float, *, filled: bool) -> None:
        last = self._before[-1]
        if filled:
            self._span = 1  # to ask first whether there is still more of this time
        elif _NO_TIME < last < horizon and load > 0:
            hit = abs(load - self._aim) < _MISSED
            self._aim = min(self._aim + _NEARER, _MOST) if hit else _AIM
            self._span = max(int((horizon - last) * self._aim / load), 1)
        else:
            self._span = _SPAN_MS
        self._before = [*self._before[-2:], horizon] if last < horizon else [_NO_TIME, horizon]


def _all(
    starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    return {place: ends[place] - start for place, start in starts.items()}


def _first(probe: _Probe) -> int:
    """Return the time of the first record after the records of a probe; `_NEVER` without one."""
    return min(probe.times.values(), default=_NEVER)


def _is_enough(load: float, asked: int) -> bool:
    return asked >= len(_ENOUGH) or load >= _ENOUGH[asked]


def _between(low: _Probe, high: _Probe, asked: int) -> int:
    """Return the time of the next probe, between the times of two probes.

    The choice depends on `asked`, the number of probes so far. Of four consecutive times, two are
    interpolated from the loads of both probes, one is near `low`, and one is in the middle.
    """
    gap = high.time - low.time
    step = (int(gap * (_AIM - low.load) / (high.load - low.load)), isqrt(gap), gap // 2)
    return low.time + min(max(step[(0, 0, 1, 2)[asked % 4]], 1), gap - 1)
