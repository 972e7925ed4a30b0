"""How much of each partition a batch reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kstreams.batch.batch_size import RecordSizes, fitting, share
from kstreams.batch.batch_size_control import Pace
from kstreams.batch.read_order import read_order
from kstreams.batch.time_cut import Counts, FirstSince, TimeCuts
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.processors.event_time import EventTime, WallClock
from kstreams.task.times.holding import HeldBack, Holding
from kstreams.times import LATEST_MS

__all__ = ("Portion", "Portions")

_Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class Portion:
    """What a batch reads.

    Attributes:
        counts: By partition, how many offsets; only those of which any.
        horizon: All records before this time are read by then, and none after it, as far as
            the planner can tell times, ms since the epoch; None: all that there is.
        holding: What tasks hold back, where the planner cannot tell times.
    """

    counts: Counts
    horizon: int | None = None
    holding: Holding | None = None


@dataclass(frozen=True)
class _Room:
    """What a batch may be.

    Attributes:
        records: How many.
        max_bytes: How many bytes they may have.
        means: How many each has, by partition.
    """

    records: int
    max_bytes: int
    means: Mapping[TopicPartition, float]

    def load(self, counts: Counts) -> float:
        """Return how full it is with so many records; 1 is full."""
        size = sum(count * self.means[place] for place, count in counts.items())
        return max(sum(counts.values()) / self.records, size / self.max_bytes)


class Portions:
    """Divides batches of one pipeline among its partitions.

    A pipeline of one source topic and one stage is read in proportion to how far its partitions
    lag. One of several topics is read up to one time in all of them, so that the order in which
    tasks merge their records does not depend on where batches end; one of several stages too, so
    that behind an edge no partition makes the records of another late. Where the records' times
    are not their topic's own, they are read in proportion, and with several topics the tasks hold
    back what is too early to be processed.

    Args:
        groups: The pipeline's groups, in order of their stages.
        first_since: Asks topics for times.
        look: Finds out about sizes of records; see `RecordSizes`.
        pace: How many records a batch reads at most, now.
        max_bytes: How many bytes, as far as their sizes are known, and each worker at most;
            but one record in any case.
    """

    def __init__(
        self,
        groups: Sequence[PartitionGroup],
        *,
        first_since: FirstSince,
        look: Callable[[TopicPartition, int], float | None],
        pace: Pace,
        max_bytes: int,
    ) -> None:
        times = {node.topic.name: node.event_time for group in groups for node in group.sources}
        self._settle_ms = max((group.settle_ms for group in groups), default=0)
        self._times: Mapping[str, EventTime] = times
        self._clocked = {t for t, each in times.items() if isinstance(each.extract, WallClock)}
        self._told = all(each.extract is None or t in self._clocked for t, each in times.items())
        behind_edges = self._told and len(groups) > 1
        self._in_time = len(times) > 1 or behind_edges or self._settle_ms > 0
        self._pace = pace
        self._max_bytes = max_bytes
        self._cuts = TimeCuts(first_since, read_order(groups))
        self._turn = 0
        self._waiting: dict[TopicPartition, int] = {}
        self._stuck: frozenset[TopicPartition] = frozenset()
        self.sizes = RecordSizes(look)

    def next(
        self,
        starts: _Offsets,
        ends: _Offsets,
        *,
        wall_ms: int | None = None,
        besides: int = 0,
        settled: bool = False,
    ) -> Portion:
        """Return what the next batch reads.

        Asks for times only when not everything that there is fits into a batch, or some of it
        may have to settle.

        Args:
            starts: Where reading goes on in each partition.
            ends: Where each ends.
            wall_ms: Wall time, ms since the epoch; None: not known.
            besides: How many records the batch has already, which come from no topic.
            settled: Whether what there is may be read at once, however young it is.
        """
        lags = {place: ends[place] - at for place, at in starts.items() if ends[place] > at}
        latest = None
        if not settled and self._settle_ms and wall_ms is not None:
            latest = wall_ms - self._settle_ms
            lags = {p: n for p, n in lags.items() if self._waiting.get(p, latest - 1) < latest}
        records = max(self._pace.records - besides, 1)
        room = _Room(records, self._max_bytes, self._means(starts, lags))
        if not self._in_time:
            return Portion(self._in_proportion(lags, room))
        if latest is None and room.load(lags) <= 1:
            return Portion(lags)
        if not self._told:
            return self._held(lags, room, latest)
        return self._cut_in_time(lags, starts, room, wall_ms, latest)

    def _cut_in_time(
        self, lags: Counts, starts: _Offsets, room: _Room, wall_ms: int | None, latest: int | None
    ) -> Portion:
        clocked = self._clocked_of(lags)
        counts = {p: n for p, n in self._in_proportion(lags, room).items() if p in clocked}
        timed = {place: n for place, n in lags.items() if place not in clocked}
        if not timed:
            return Portion(counts)
        cut = self._cuts.find(
            {place: starts[place] for place in timed},
            {place: starts[place] + n for place, n in timed.items()},
            lambda found: room.load({**counts, **found}),
            latest,
        )
        counts.update(cut.counts)
        astray = {p for p, time in cut.times.items() if time > self._latest(p, wall_ms)}
        self._waiting.update({p: time for p, time in cut.times.items() if p not in astray})
        if astray - cut.counts.keys() or (latest is None and not counts):
            return self._held(lags, room, latest)
        return Portion(counts, cut.horizon)

    def _latest(self, place: TopicPartition, wall_ms: int | None) -> int:
        """Return the last time that a partition's records may have.

        A record beyond hides the times of those behind it.
        """
        return LATEST_MS if wall_ms is None else self._times[place.topic].latest(wall_ms)

    def _held(self, lags: Counts, room: _Room, latest: int | None) -> Portion:
        """Return shares of all partitions, of which the tasks process what they may.

        Of a partition whose records were all held back one record is read: its time says when
        it is their turn.
        """
        stuck = {place: 1 for place in lags if place in self._stuck}
        free = {place: n for place, n in lags.items() if place not in stuck}
        left = replace(room, records=max(room.records - len(stuck), 1))
        counts = {**self._in_proportion(free, left), **stuck}
        more = (p for p, n in lags.items() if counts.get(p, 0) < n and p.topic not in self._clocked)
        holding = Holding(frozenset(more), latest)
        return Portion(counts, latest, holding if holding.open or latest is not None else None)

    def _in_proportion(self, lags: Counts, room: _Room) -> dict[TopicPartition, int]:
        counts = share(lags, room.records)
        self._turn += 1
        return fitting(counts, room.means, self._max_bytes, turn=self._turn - 1)

    def _means(
        self, starts: _Offsets, places: Iterable[TopicPartition]
    ) -> dict[TopicPartition, float]:
        return {place: self.sizes.of(place, starts[place]) for place in places}

    def smaller(
        self,
        starts: _Offsets,
        portion: Portion,
        refused: Iterable[frozenset[TopicPartition]],
        *,
        turn: int,
    ) -> Portion:
        """Return less of what a batch was to read, when workers have refused their parts of it.

        Args:
            starts: Where the batch begins in each partition that it reads.
            portion: What it was to read.
            refused: By worker, the partitions of which it was too much.
            turn: How often the batch was made smaller before.
        """
        self._waiting.clear()
        groups = [places for places in refused if places]
        means = self._means(starts, portion.counts)
        counts = dict(portion.counts)
        for places in groups:
            part = {place: counts.pop(place) for place in places}
            counts.update(fitting(part, means, self._max_bytes, turn=turn))
        if not self._in_time:
            return Portion(counts)
        if portion.holding is not None or not self._told:
            before = portion.holding or Holding(frozenset())
            cut = {place for place, n in portion.counts.items() if n > counts.get(place, 0)}
            holding = Holding(before.open | (cut - self._clocked_of(cut)), before.before_ms)
            return Portion(counts, portion.horizon, holding)
        clocked = {place: counts.get(place, 0) for place in self._clocked_of(counts)}
        timed = {place: n for place, n in portion.counts.items() if place not in clocked}
        found = self._cuts.find(
            {place: starts[place] for place in timed},
            {place: starts[place] + n for place, n in timed.items()},
            lambda found: self._fullest({**clocked, **found}, means, groups),
        )
        return (
            Portion({**clocked, **found.counts}, found.horizon) if found.counts else Portion(counts)
        )

    def _fullest(
        self,
        counts: Counts,
        means: Mapping[TopicPartition, float],
        groups: Iterable[frozenset[TopicPartition]],
    ) -> float:
        """Return how full the fullest of some workers is; 1 is full."""
        sizes = (sum(counts.get(p, 0) * means[p] for p in places) for places in groups)
        return max(sizes, default=0) / self._max_bytes

    def _clocked_of(self, places: Iterable[TopicPartition]) -> set[TopicPartition]:
        return {place for place in places if place.topic in self._clocked}

    def note(self, held: Mapping[TopicPartition, HeldBack]) -> None:
        """Take in what the tasks of a batch have held back."""
        self._waiting.update({place: each.time for place, each in held.items()})
        self._stuck = frozenset(place for place, each in held.items() if not each.passed)
