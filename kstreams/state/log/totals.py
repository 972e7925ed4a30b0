"""The total counts of each node since the start of its query: part of commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

from kstreams.ids import TopicPartition, parse_keys, text_keys
from kstreams.state.log.fields import Fields, checked_integer
from kstreams.state.log.topic_counts import TopicCounts, topics_from_json, topics_to_json

__all__ = (
    "MISPLACED",
    "OTHERS",
    "NodeCounts",
    "PartitionCounts",
    "SourceRead",
    "Totals",
    "by_reason",
    "summed",
)

MISPLACED = "misplaced-key"
"""The drop reason of records that are counted as dropped, but processed nevertheless."""


OTHERS = "other-reasons"
"""The name under which a node's drop reasons beyond the limit are counted together."""

_MOST_REASONS = 64


@dataclass(frozen=True)
class NodeCounts:
    """The counts of one node.

    For sources, edges, loops and sinks, `records_in == records_out + lost + held`. A processor
    forwards any number of records; its input is the output of its parents.

    Attributes:
        records_in: The number of input records: for a source the records read, for a processor the
            records from all inputs.
        records_out: The number of output records, each counted once regardless of the number of
            children; for a sink the records written.
        held: The number of input records that wait for a later batch.
        dropped: The number of dropped records, including dead letters, by reason.
    """

    records_in: int = 0
    records_out: int = 0
    held: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """The number of dropped input records."""
        return sum(count for reason, count in self.dropped.items() if reason != MISPLACED)

    def __add__(self, other: NodeCounts) -> NodeCounts:
        """Return the sum."""
        return NodeCounts(
            self.records_in + other.records_in,
            self.records_out + other.records_out,
            self.held + other.held,
            dict(Counter(self.dropped) + Counter(other.dropped)) if other.dropped else self.dropped,
        )

    def bounded(self) -> NodeCounts:
        """Return the counts of the first 64 reasons; further reasons are summed as `OTHERS`.

        Reasons should be constants of a program; the number of reasons derived from records would
        be unbounded.
        """
        if len(self.dropped) <= _MOST_REASONS:
            return self
        kept = dict(islice(self.dropped.items(), _MOST_REASONS))
        rest = sum(self.dropped.values()) - sum(kept.values())
        kept[OTHERS] = kept.get(OTHERS, 0) + rest
        return replace(self, dropped=kept)

    def to_json(self) -> list[object]:
        """Return plain data for JSON."""
        return [self.records_in, self.records_out, self.held, dict(self.dropped)]

    @classmethod
    def from_json(cls, data: object) -> NodeCounts:
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
        if not isinstance(data, list) or len(data) != 4:  # in, out, held and dropped
            raise ValueError(
                "expected the four counts of a node (records in, records out, held records, and "
                f"dropped records by reason), got {data!r}"
            )
        for number in data[:3]:
            checked_integer(number, "a count of a node")
        received, forwarded, held, dropped = data
        return cls(received, forwarded, held, Fields({"dropped": dropped}).integers("dropped"))


class SourceRead(NamedTuple):
    """The part of a source partition's input that a batch processed.

    Attributes:
        node: The source.
        place: The partition of the source's topic.
        rows: The number of records that were read and had not been processed before.
        taken: The number of these records that the batch processed; the rest waits.
    """

    node: str
    place: TopicPartition
    rows: int
    taken: int


def summed(parts: Iterable[Mapping[str, NodeCounts]]) -> dict[str, NodeCounts]:
    """Return the sums of several counts, by node."""
    sums: dict[str, list[int]] = {}
    dropped: dict[str, Counter[str]] = {}
    for part in parts:
        for node, counts in part.items():
            known = sums.setdefault(node, [0, 0, 0])
            known[0] += counts.records_in
            known[1] += counts.records_out
            known[2] += counts.held
            if counts.dropped:
                dropped.setdefault(node, Counter()).update(counts.dropped)
    return {
        node: NodeCounts(received, forwarded, held, dict(+dropped.get(node, Counter())))
        for node, (received, forwarded, held) in sums.items()
    }


def by_reason(nodes: Mapping[str, NodeCounts]) -> dict[str, int]:
    """Return the number of records that all nodes have dropped, by reason."""
    found: Counter[str] = Counter()
    for counts in nodes.values():
        found.update(counts.dropped)
    return dict(found)


class PartitionCounts(NamedTuple):
    """The counts of a source for one partition of its topic.

    Attributes:
        taken: The number of processed or dropped records.
        held: The number of records that were read and wait for a later batch.
    """

    taken: int = 0
    held: int = 0


@dataclass(frozen=True)
class Totals:
    """The total counts of a query's nodes up to a commit.

    An app of an earlier version of the library counts from its first commit with this version; a
    fork counts from its start.

    Attributes:
        nodes: The counts by node, of nodes with input.
        sources: The counts by source and partition.
        topics: The counts by topic: of sources, sinks, dead letters and changelogs.
    """

    nodes: Mapping[str, NodeCounts] = field(default_factory=dict)
    sources: Mapping[str, Mapping[TopicPartition, PartitionCounts]] = field(default_factory=dict)
    topics: Mapping[str, TopicCounts] = field(default_factory=dict)

    @classmethod
    def of_waiting(cls, loops: Mapping[str, int]) -> Totals:
        """Return initial counts, in which only the given records, by loop, are held."""
        return cls({loop: NodeCounts(rows, held=rows) for loop, rows in loops.items() if rows})

    def to_json(self) -> dict[str, object]:
        """Return plain data for JSON."""
        return {
            "nodes": {node: counts.to_json() for node, counts in self.nodes.items()},
            "sources": {node: text_keys(places) for node, places in self.sources.items()},
            "topics": topics_to_json(self.topics),
        }

    @classmethod
    def from_json(cls, data: object) -> Totals:
        """Parse the result of `to_json`; raises `ValueError` if the data is invalid."""
        fields = Fields(data)
        nodes, sources = fields.mapping("nodes"), Fields(fields.mapping("sources"))
        return cls(
            {node: NodeCounts.from_json(counts) for node, counts in nodes.items()},
            {
                node: {
                    place: _partition_from_json(counts)
                    for place, counts in parse_keys(TopicPartition, sources.mapping(node)).items()
                }
                for node in sources.all()
            },
            topics_from_json(fields.mapping("topics", {})),
        )


def _partition_from_json(data: object) -> PartitionCounts:
    if not isinstance(data, list) or len(data) != len(PartitionCounts._fields):
        raise ValueError(
            f"expected the two counts of a partition (processed and held records), got {data!r}"
        )
    return PartitionCounts(*(checked_integer(number, "a count of a partition") for number in data))
