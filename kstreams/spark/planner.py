"""Decide what the next batch of a query reads from embedded topics, and when it is due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from kstreams.clock import to_ms
from kstreams.embedded.log import EmbeddedLog
from kstreams.embedded.segment import Segment
from kstreams.errors import DataLossError, Where
from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.spark.plans import Plan, Slice

__all__ = ("EmbeddedPlanner", "share")


class EmbeddedPlanner:
    """Plans batches over the embedded topics of one pipeline.

    Args:
        log: The topics.
        groups: The pipeline's groups, in order of their stages.
        max_records: How many records a batch reads at most.
        positions: By `topic/partition`, the next offset to plan; filled in from the
            sources' starts where missing.
    """

    def __init__(
        self,
        log: EmbeddedLog,
        groups: Sequence[PartitionGroup],
        *,
        max_records: int,
        positions: Mapping[str, int],
    ) -> None:
        self._log = log
        self._sources = [
            (stage, node) for stage, group in enumerate(groups) for node in group.sources
        ]
        self._max_records = max_records
        self.positions = dict(positions)
        for _, node in self._sources:
            self._begin(node)

    def _begin(self, node: SourceNode) -> None:
        topic = node.topic.name
        known = {p for p in self._partitions(topic) if f"{topic}/{p}" in self.positions}
        fresh = [p for p in self._partitions(topic) if p not in known]
        if not fresh:
            return
        by_time = (
            self._log.offsets_at(topic, to_ms(node.start))
            if isinstance(node.start, datetime)
            else {}
        )
        for partition in fresh:
            if node.start == "latest":
                offset = self._log.end_offset(topic, partition)
            elif node.start == "earliest":
                offset = self._log.beginning_offset(topic, partition)
            else:
                offset = by_time[partition]
            self.positions[f"{topic}/{partition}"] = offset

    def _partitions(self, topic: str) -> Iterable[int]:
        return range(self._log.topic(topic).partitions)

    def end(self) -> dict[str, int]:
        """Return the present end of every partition, by `topic/partition`."""
        return {
            f"{node.topic.name}/{p}": self._log.end_offset(node.topic.name, p)
            for _, node in self._sources
            for p in self._partitions(node.topic.name)
        }

    def behind(self, end: Mapping[str, int]) -> bool:
        """Tell whether something before an end is not planned yet."""
        return any(self.positions[place] < offset for place, offset in end.items())

    def next(self, *, until: Mapping[str, int] | None = None) -> Plan | None:
        """Return the next batch, or None when there is nothing new; moves the positions.

        Args:
            until: By `topic/partition`, where to end; the present ends by default.

        Raises:
            DataLossError: A topic is shorter than what was read of it before.
        """
        present = self.end()
        self._check(present)
        end = present if until is None else until
        lags = {place: end[place] - start for place, start in self.positions.items()}
        shares = share({p: lag for p, lag in lags.items() if lag > 0}, self._max_records)
        tasks: dict[tuple[int, int], list[Slice]] = {}
        for stage, node in self._sources:
            topic = node.topic.name
            for partition in self._partitions(topic):
                place = f"{topic}/{partition}"
                if place in shares:
                    start = self.positions[place]
                    self.positions[place] = stop = start + shares[place]
                    slices = tasks.setdefault((stage, partition), [])
                    slices.extend(self._slices(node, partition, start, stop))
        return Plan(tasks, dict(self.positions)) if tasks else None

    def _check(self, end: Mapping[str, int]) -> None:
        for place, offset in end.items():
            if offset < self.positions[place]:
                topic, _, partition = place.rpartition("/")
                raise DataLossError(
                    f"the topic ends at offset {offset}, but was read up to "
                    f"{self.positions[place]} before",
                    hint="it was deleted and made anew: begin the app anew too "
                    "(`kstreams reset`), or bring the topic back",
                    where=Where(topic=topic, partition=int(partition)),
                )

    def _slices(self, node: SourceNode, partition: int, start: int, stop: int) -> Iterable[Slice]:
        topic = node.topic.name
        segment: Segment
        for segment in self._log.segments(topic, partition, start):
            if segment.first_offset >= stop:
                return
            low, high = max(start, segment.first_offset), min(stop, segment.end_offset)
            yield Slice(node.name, topic, partition, segment.name, low, high)


def share(lags: Mapping[str, int], total: int) -> dict[str, int]:
    """Divide a number of records fairly among partitions that lag behind.

    Each gets an equal part, and what some do not need goes to the others; at least one
    record each.
    """
    shares: dict[str, int] = {}
    waiting = sorted(lags, key=lambda place: (lags[place], place))
    left = total
    while waiting:
        part = max(left // len(waiting), 1)
        place = waiting.pop(0)
        shares[place] = min(lags[place], part)
        left -= shares[place]
    return shares
