"""The planner: it decides the input of a query's next batch."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from kstreams.batch.io.feed import Feed
from kstreams.batch.messages.oversized_batch import Refusal
from kstreams.batch.messages.task_status import ReadSizes
from kstreams.batch.planning.batch_limits import Portion, Portions
from kstreams.batch.planning.batch_size_control import Pace
from kstreams.batch.planning.read_order import feeding_tables
from kstreams.batch.planning.topic_ids import TOPIC_WAY_ON, Identities
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.checkpoint.planning.plans import Plan, Slice
from kstreams.clock import to_ms
from kstreams.connection import TopicEnds
from kstreams.errors import DataLossError, PartitionCountError, Where
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.log import is_bounded
from kstreams.task.times.holding import HeldBack

__all__ = ("BatchPlanner",)

_LOG = logging.getLogger(__name__)
_ASK_AGAIN_S = 5.0


class BatchPlanner:
    """Plans batches over the source topics of one query.

    Args:
        feed: The input of the query.
        groups: The groups of the query, in the order of their stages.
        max_records: The maximum number of records of a batch.
        max_bytes: The maximum bytes of a batch and of each worker, as far as sizes are known; a
            batch has at least one record, however large.
        plans: The plan log of the query, which also stores its first positions.
        positions: The next offset of each partition; a missing partition starts at its stored first
            position, or at the start of its source.
        topics: The ids that the topics had when these positions were stored.
        start_ms: The start time of sources without a position, ms since the epoch, instead of their
            own start.

    Attributes:
        stopped: Topics that are not read any more, because their records reach only `limit` nodes
            that forward no more records.

    Raises:
        TopicRecreatedError: A topic was deleted and created again after it was read.
        DataLossError: Records were deleted before they were read.
    """

    def __init__(
        self,
        feed: Feed,
        groups: Sequence[PartitionGroup],
        *,
        max_records: int,
        max_bytes: int,
        plans: PlanLog,
        positions: Mapping[TopicPartition, int],
        topics: Mapping[str, str] | None = None,
        start_ms: int | None = None,
    ) -> None:
        self._start_ms = start_ms
        self._admin = admin = feed.admin
        self._known_ends = feed.known_ends
        self._slices = feed.slices
        self._pace = Pace(max_records)
        self.portions = Portions(
            groups,
            first_since=feed.admin.first_since,
            look=feed.mean_bytes,
            pace=self._pace,
            max_bytes=max_bytes,
        )
        self._sources = [
            (stage, node) for stage, group in enumerate(groups) for node in group.sources
        ]
        last = feeding_tables(groups)
        # Tables last: a reader that sees a record also sees the rows written before the record.
        names = sorted({node.topic.name: None for _, node in self._sources}, key=last.__contains__)
        present = {topic: admin.ends(topic) for topic in names}
        self._counts = {topic: len(ends.offsets) for topic, ends in present.items()}
        known = {
            place: offset for place, offset in positions.items() if place.topic in self._counts
        }
        self._identities = Identities({t: ends.topic_id for t, ends in present.items()})
        self._identities.check_known(topics or {}, known)
        fresh = {
            place: offset
            for _, node in self._sources
            for place, offset in self._start(node, known).items()
        }
        begun = plans.begin(fresh, self._identities.known) if fresh else Plan({})
        self.positions = {**begun.positions, **known}
        self._identities.check_known({**begun.topics, **(topics or {})}, self.positions)
        self._bounded = {
            node.topic.name: present[node.topic.name]
            for _, node in self._sources
            if is_bounded(node.log)
        }
        self.stopped: frozenset[str] = frozenset()
        self._ends = dict(self.positions)
        self._asked_at = float("-inf")
        self._check_beginnings()

    def _start(
        self, node: SourceNode, known: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Return the start offset of each partition of a source that is not in `known`.

        Args:
            node: A source of the query.
            known: The positions from earlier batches.
        """
        topic = node.topic.name
        places = [TopicPartition(topic, p) for p in range(self._counts[topic])]
        fresh = [place for place in places if place not in known]
        if not fresh:
            return {}
        if self._start_ms is not None:
            found = self._admin.offsets_at(topic, self._start_ms)
        elif isinstance(node.start, datetime):
            found = self._admin.offsets_at(topic, to_ms(node.start))
        elif node.start == "latest":
            found = self._admin.end_offsets(topic)
        else:
            found = self._admin.beginning_offsets(topic)
            if node.log is not None and any(found.values()):
                _LOG.warning("log %r begins at %s: earlier records were deleted", topic, found)
        return {place: found[place.partition] for place in fresh}

    def _check_beginnings(self) -> None:
        for topic in self._counts:
            for partition, first in self._admin.beginning_offsets(topic).items():
                offset = self.positions.get(TopicPartition(topic, partition), first)
                if offset < first:
                    raise DataLossError(
                        f"records were deleted before they were read: the topic begins at offset "
                        f"{first}, but was read only up to {offset}",
                        hint=DataLossError.WAY_ON,
                        where=Where(topic=topic, partition=partition, offset=offset),
                    )

    def end(self) -> dict[TopicPartition, int]:
        """Return the current end of every partition.

        Raises:
            TopicRecreatedError: A topic was deleted and created again after it was read.
            PartitionCountError: A topic has more partitions than before.
        """
        return self._checked_ends(self._admin.ends)

    def _checked_ends(self, ask: Callable[[str], TopicEnds]) -> dict[TopicPartition, int]:
        ends: dict[TopicPartition, int] = {}
        for topic, count in self._counts.items():
            present = self._bounded.get(topic) or ask(topic)
            self._identities.check(topic, present.topic_id, self.positions)
            found = present.offsets
            if len(found) > count:
                raise PartitionCountError(
                    f"topic {topic!r} has {len(found)} partitions, more than the {count} that the "
                    "app was started with",
                    hint="stop the app, then divide its state with `kstreams rescale`, reset the "
                    "app, or let it read a topic with the old count.",
                    where=Where(topic=topic, partition=max(found)),
                )
            ends.update({TopicPartition(topic, p): offset for p, offset in found.items()})
        return ends

    def reached(self, end: Mapping[TopicPartition, int]) -> bool:
        """Return whether the records before the given end offsets are planned, by partition.

        Partitions of stopped topics do not count.
        """
        return all(
            self.positions[place] >= offset
            for place, offset in end.items()
            if place.topic not in self.stopped
        )

    def is_finished(self) -> bool:
        """Return whether all records that sources will ever have are planned, or have no effect."""
        if self._counts.keys() - self._bounded.keys() - self.stopped:
            return False
        return self.reached(
            {
                TopicPartition(topic, partition): offset
                for topic, ends in self._bounded.items()
                for partition, offset in ends.offsets.items()
            }
        )

    def left(self, end: Mapping[TopicPartition, int]) -> int:
        """Return the number of unplanned records before the given end offsets, by partition.

        Partitions of stopped topics do not count.
        """
        return sum(
            max(offset - self.positions[place], 0)
            for place, offset in end.items()
            if place.topic not in self.stopped
        )

    def backlog(self) -> int:
        """Return the number of unplanned records when the ends of topics were last requested."""
        return sum(self.behind().values())

    def behind(self) -> dict[TopicPartition, int]:
        """Return the lag of each partition: its unplanned records when ends were last requested."""
        return {
            place: max(end - self.positions[place], 0)
            for place, end in self._ends.items()
            if place.topic not in self.stopped
        }

    def next(
        self,
        *,
        until: Mapping[TopicPartition, int] | None = None,
        wall_ms: int | None = None,
        besides: int = 0,
    ) -> Plan | None:
        """Return the next plan, or None without new records; advances the positions.

        The ends of topics are requested only if the records before the known ends do not fill a
        batch, or if the known ends are some seconds old, because a recreated topic must be
        detected.

        Args:
            until: The end offset of each partition, before which all records are read, however new
                they are; the current ends by default.
            wall_ms: The wall time, ms since the epoch; records that are too new at this time wait.
                None: unknown.
            besides: The number of records in the batch that do not come from topics.

        Raises:
            TopicRecreatedError: A topic was deleted and created again after it was read.
            DataLossError: A topic ends before the offset up to which it was read.
            PartitionCountError: A topic has more partitions than before.
        """
        now = time.monotonic()
        if self.backlog() < self._pace.records or now - self._asked_at > _ASK_AGAIN_S:
            self._ends = self._checked_ends(self._known_ends)
            self._asked_at = now
            self._check_ends(self._ends)
        portion = self.portions.next(
            {at: offset for at, offset in self.positions.items() if at.topic not in self.stopped},
            self._ends if until is None else until,
            wall_ms=wall_ms,
            besides=besides,
            settled=until is not None,
        )
        tasks: dict[tuple[int, int], list[Slice]] = {}
        for stage, node in self._sources:
            topic = node.topic.name
            for partition in range(self._counts[topic]):
                place = TopicPartition(topic, partition)
                if portion.counts.get(place, 0):
                    start = self.positions[place]
                    self.positions[place] = stop = start + portion.counts[place]
                    slices = tasks.setdefault((stage, partition), [])
                    slices.extend(self._slices(node, partition, start, stop))
        if not tasks:
            return None
        return replace(self.plan(tasks), horizon=portion.horizon, holding=portion.holding)

    def plan(self, tasks: Mapping[tuple[int, int], Sequence[Slice]]) -> Plan:
        """Return a plan with the given slices to read and the current positions.

        Args:
            tasks: The slices that each task reads, by stage number and partition.
        """
        return Plan(tasks, dict(self.positions), topics=self._identities.known)

    def done(
        self,
        sizes: Collection[ReadSizes],
        held: Mapping[TopicPartition, HeldBack],
        seconds: float,
    ) -> None:
        """Record the input of a batch's tasks, before the next batch is planned.

        Args:
            sizes: The number of read offsets and bytes of each partition, by task.
            held: The next offsets of partitions with unprocessed records.
            seconds: The duration of the batch, seconds.
        """
        for each in sizes:
            self._saw(each)
        self._pace.took(sum(count for each in sizes for count, _ in each.values()), seconds)
        self.portions.note(held)
        self.positions.update({place: each.offset for place, each in held.items()})

    def _saw(self, sizes: ReadSizes) -> None:
        for place, (offsets, size) in sizes.items():
            self.portions.sizes.saw(place, offsets, size)

    def cut(self, plan: Plan, refusals: Iterable[Refusal]) -> Plan:
        """Plan an uncommitted batch smaller; moves the positions back.

        If all partitions of a batch end at one time, this time becomes earlier for all tasks.
        Otherwise only the tasks of workers that refused read less, in proportion to their records
        and by the sizes that the workers have read. The other tasks read the same input, so that
        they write the same output again.

        Args:
            plan: The previous plan of the batch.
            refusals: The refusals with their reasons.

        Returns:
            The next revision of the plan.
        """
        revision = plan.revision + 1
        refused = list[frozenset[TopicPartition]]()
        for refusal in refusals:
            self._saw(refusal.sizes)
            parts = (each for task in refusal.tasks for each in plan.tasks[task])
            refused.append(frozenset(each.topic_partition for each in parts))
        counts, starts = dict[TopicPartition, int](), dict[TopicPartition, int]()
        for slices in plan.tasks.values():
            for each in slices:
                counts[each.topic_partition] = counts.get(each.topic_partition, 0) + len(each)
                starts.setdefault(each.topic_partition, each.from_offset)
        portion = Portion(counts, plan.horizon, plan.holding)
        portion = self.portions.smaller(starts, portion, refused, turn=plan.revision)
        ends = {place: start + portion.counts.get(place, 0) for place, start in starts.items()}
        tasks, cuts = dict(plan.tasks), dict(plan.cuts)
        for task, slices in plan.tasks.items():
            found = [each.until(ends[each.topic_partition]) for each in slices]
            tasks[task] = tuple(each for each in found if len(each) > 0)
            if list(tasks[task]) != list(slices):
                cuts[task] = revision
        self.positions = {**self.positions, **ends}
        return replace(
            plan,
            tasks=tasks,
            positions={**plan.positions, **ends},
            cuts=cuts,
            limits={},
            horizon=portion.horizon,
            holding=portion.holding,
        )

    def _check_ends(self, end: Mapping[TopicPartition, int]) -> None:
        for place, offset in end.items():
            if offset < self.positions[place]:
                raise DataLossError(
                    f"the topic ends at offset {offset}, but was read up to "
                    f"{self.positions[place]} before",
                    hint="the topic was truncated, or deleted and created again. " + TOPIC_WAY_ON,
                    where=Where(topic=place.topic, partition=place.partition),
                )
