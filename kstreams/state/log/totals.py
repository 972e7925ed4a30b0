"""The total counts of each node of a query since its start: part of its commits."""

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
"""The drop reason of records that are counted but processed."""


OTHERS = "other-reasons"
"""The name for the drop reasons of a node beyond the first ones."""

_MOST_REASONS = 64


@dataclass(frozen=True)
class NodeCounts:
    """The counts of one node.

    For sources, edges, loops and sinks, `records_in == records_out + lost + held`. A processor
    forwards any number of records; its input is the output of its parents.

    Attributes:
        records_in: The number of input records: for a source those that were read, for a processor
            those of both inputs.
        records_out: The number of output records, counted once for several children; for a sink
            those that were written.
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
        """Return both together."""
        return NodeCounts(
            self.records_in + other.records_in,
            self.records_out + other.records_out,
            self.held + other.held,
            dict(Counter(self.dropped) + Counter(other.dropped)) if other.dropped else self.dropped,
        )

    def bounded(self) -> NodeCounts:
        """Return the counts with a bounded number of reasons, the first ones by name.

        Reasons should be constants of a program; reasons derived from records would grow without
        end.
        """
        if len(self.dropped) <= _MOST_REASONS:
            return self
        kept = dict(islice(self.dropped.items(), _MOST_REASONS))
        rest = sum(self.dropped.values()) - sum(kept.values())
        kept[OTHERS] = kept.get(OTHERS, 0) + rest
        return replace(self, dropped=kept)

    def to_json(self) -> list[object]:
        """Return plain data."""
        return [self.records_in, self.records_out, self.held, dict(self.dropped)]

    @classmethod
    def from_json(cls, data: object) -> NodeCounts:
        """Parse the result of `to_json`; a `ValueError` has the problem."""
        if not isinstance(data, list) or len(data) != 4:  # in, out, held and dropped
            raise ValueError("a node must have a list of four counts")
        came, gave, held = (checked_integer(number, "a count of a node") for number in data[:3])
        return cls(came, gave, held, Fields({"dropped": data[3]}).integers("dropped"))


class SourceRead(NamedTuple):
    """The part of a source partition's input that a batch processed.

    Attributes:
        node: The source.
        place: The partition.
        rows: The number of records that were read and not processed before.
        taken: The number of those that did not have to wait.
    """

    node: str
    place: TopicPartition
    rows: int
    taken: int


def summed(parts: Iterable[Mapping[str, NodeCounts]]) -> dict[str, NodeCounts]:
    """Return several counts together, by node."""
    found: dict[str, NodeCounts] = {}
    for part in parts:
        for node, counts in part.items():
            known = found.get(node)
            found[node] = counts if known is None else known + counts
    return found


def by_reason(nodes: Mapping[str, NodeCounts]) -> dict[str, int]:
    """Return how many records all nodes have dropped, by reason."""
    found: Counter[str] = Counter()
    for counts in nodes.values():
        found.update(counts.dropped)
    return dict(found)


class PartitionCounts(NamedTuple):
    """The progress of a source in a partition of its topic.

    Attributes:
        taken: The number of processed or dropped records.
        held: The number of later records that were read, and wait for a later batch.
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
        """Return the initial counts with records in loops, by loop."""
        return cls({loop: NodeCounts(rows, held=rows) for loop, rows in loops.items() if rows})

    def to_json(self) -> dict[str, object]:
        """Return plain data."""
        return {
            "nodes": {node: counts.to_json() for node, counts in self.nodes.items()},
            "sources": {node: text_keys(places) for node, places in self.sources.items()},
            "topics": topics_to_json(self.topics),
        }

    @classmethod
    def from_json(cls, data: object) -> Totals:
        """Parse the result of `to_json`; a `ValueError` has the problem."""
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
        raise ValueError("the counts of a partition are not two")
    return PartitionCounts(*(checked_integer(number, "a count of a partition") for number in data))
