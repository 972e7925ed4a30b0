"""How many records have gone through each node of a query since it began: part of its commits."""

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
"""The reason of records that are counted, and go on all the same."""


OTHERS = "other-reasons"
"""Stands for the reasons of a node beyond the first ones."""

_MOST_REASONS = 64


@dataclass(frozen=True)
class NodeCounts:
    """How many records one node took and gave.

    What comes in by a source, an edge or a loop, and what goes into a sink, has one way out:
    there `records_in == records_out + lost + held`. A processor gives as many as it likes;
    what it takes is what its parents have given it.

    Attributes:
        records_in: How many came: of a source, were read; of a processor, those of both inputs.
        records_out: How many it gave: one that several children take counts once. Of a sink,
            how many were written.
        held: How many of those that came wait for a later batch.
        dropped: How many it has dropped, dead letters included, by reason.
    """

    records_in: int = 0
    records_out: int = 0
    held: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """How many of those that came were dropped."""
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
        """Return it with no more reasons than a commit should have, the first ones by name.

        A reason is a word of a program's; one that is made of records would grow without end.
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
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
        if not isinstance(data, list) or len(data) != 4:  # in, out, held and dropped
            raise ValueError("the counts of a node are not four")
        came, gave, held = (checked_integer(number, "a count of a node") for number in data[:3])
        return cls(came, gave, held, Fields({"dropped": data[3]}).integers("dropped"))


class SourceRead(NamedTuple):
    """What a batch took of what was read of a source's partition.

    Attributes:
        node: The source.
        place: The partition.
        rows: How many records were there, that had not been processed before.
        taken: How many of them did not have to wait.
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
    """How far a source has come in a partition of its topic.

    Attributes:
        taken: How many records have been processed or dropped.
        held: How many were read beyond that, and wait for a later batch.
    """

    taken: int = 0
    held: int = 0


@dataclass(frozen=True)
class Totals:
    """What the nodes of a query have counted up to a commit.

    An app that began under an earlier version of the library counts from its first commit
    under this one; a fork counts from its beginning.

    Attributes:
        nodes: By node, but for those that nothing has come to.
        sources: By source and partition.
        topics: By topic: of sources, sinks, dead letters and changelogs.
    """

    nodes: Mapping[str, NodeCounts] = field(default_factory=dict)
    sources: Mapping[str, Mapping[TopicPartition, PartitionCounts]] = field(default_factory=dict)
    topics: Mapping[str, TopicCounts] = field(default_factory=dict)

    @classmethod
    def of_waiting(cls, loops: Mapping[str, int]) -> Totals:
        """Return what counting begins with where records are in loops already, by loop."""
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
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
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
