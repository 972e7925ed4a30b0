"""The number of records that a batch reads from each partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kstreams.batch.planning.batch_size import RecordSizes, fitting, share
from kstreams.batch.planning.batch_size_control import Pace
from kstreams.batch.planning.read_order import read_order
from kstreams.batch.planning.time_cut import Counts, FirstSince, TimeCuts
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.processors.event_time import EventTime, WallClock
from kstreams.task.times.holding import HeldBack, Holding
from kstreams.times import LATEST_MS

__all__ = ("Portion", "Portions")

_Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class Portion:
    """The input of a batch.

    Attributes:
        counts: The number of offsets to read, by partition; without partitions that have none.
        horizon: A time, ms since the epoch: the batch reads all remaining records before it and no
            record after it, as far as the planner knows times. None: the batch reads without regard
            to times.
        holding: The rule by which tasks hold back records, if the planner does not know times.
    """

    counts: Counts
    horizon: int | None = None
    holding: Holding | None = None


@dataclass(frozen=True)
class _Room:
    """The limits of a batch.

    Attributes:
        records: The maximum number of records.
        max_bytes: The maximum bytes.
        means: The mean bytes of a record, by partition.
    """

    records: int
    max_bytes: int
    means: Mapping[TopicPartition, float]

    def load(self, counts: Counts) -> float:
        """Return the load of a batch with these numbers of records; 1 is full."""
        size = sum(count * self.means[place] for place, count in counts.items())
        return max(sum(counts.values()) / self.records, size / self.max_bytes)


class Portions:
    """Divides batches of one query among its partitions.

    A query of one source topic and one stage reads its partitions in proportion to their lag. A
    query of several topics reads all topics up to the same time, so that the order of merged
    records does not depend on the ends of batches. A query of several stages does this, too, so
    that below an edge no partition makes the records of another partition late. If the event time
    of records is not the topic's timestamp, partitions are read in proportion, and with several
    topics the tasks hold back records that are too early to process.

    Args:
        groups: The groups of the query, in the order of their stages.
        first_since: Finds offsets by time.
        look: Returns the mean bytes of records; see `RecordSizes`.
        pace: The maximum number of records of a batch, which changes from batch to batch.
        max_bytes: The maximum bytes of a batch and of each worker, as far as sizes are known; a
            batch has at least one record, however large.
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
        self._knows_times = all(
            each.extract is None or t in self._clocked for t, each in times.items()
        )
        behind_edges = self._knows_times and len(groups) > 1
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
        """Return the input of the next batch.

        The method requests the times of records only if not all records fit into a batch, or if
        some may be so new that they must wait (`settle_ms`).

        Args:
            starts: The next offset of each partition.
            ends: The end offset of each partition.
            wall_ms: The wall time, ms since the epoch; None: unknown.
            besides: The number of records in the batch that do not come from topics.
            settled: Whether all records may be read immediately, however new they are.
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
        if not self._knows_times:
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
        """Return the latest plausible time of a partition's records, ms since the epoch.

        A record with a later time, as from a wrong clock, hides the times of the records after it,
        because a partition is ordered by the running maximum of its times.
        """
        return LATEST_MS if wall_ms is None else self._times[place.topic].latest(wall_ms)

    def _held(self, lags: Counts, room: _Room, latest: int | None) -> Portion:
        """Return the input of a batch whose tasks hold back the records that are too early.

        From a partition whose records were all held back, one record is read, because its time
        determines when it is processed.
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
        """Return a smaller portion, after workers have refused their parts of the batch.

        Args:
            starts: The first offset of the batch in each partition.
            portion: The refused portion.
            refused: The partitions with too much input, by worker.
            turn: The number of earlier reductions of this batch.
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
        if portion.holding is not None or not self._knows_times:
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
        """Return the load of the worker with the most bytes; 1 is full.

        Args:
            counts: The number of records, by partition.
            means: The mean bytes of a record, by partition.
            groups: The partitions of each worker.
        """
        sizes = (sum(counts.get(p, 0) * means[p] for p in places) for places in groups)
        return max(sizes, default=0) / self._max_bytes

    def _clocked_of(self, places: Iterable[TopicPartition]) -> set[TopicPartition]:
        return {place for place in places if place.topic in self._clocked}

    def note(self, held: Mapping[TopicPartition, HeldBack]) -> None:
        """Record the held-back records of a batch, for the next batch."""
        self._waiting.update({place: each.time for place, each in held.items()})
        self._stuck = frozenset(place for place, each in held.items() if not each.passed)
