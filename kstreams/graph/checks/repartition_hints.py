"""Hints for groups whose topics are not co-partitioned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kstreams.graph.inner_keys import inner_rule
from kstreams.graph.nodes import Entry, LoopNode, RepartitionNode, SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.partitioner import Murmur2Partitioner

__all__ = ("Side", "repartition_hint", "repartition_lines")


_OF_TABLE = ".source"
"""The suffix of the name of a table's source."""


@dataclass(frozen=True)
class Side:
    """A source of a group, with the size of its topic.

    Attributes:
        source: The node of the source.
        partitions: Number of partitions of its topic.
        records: Number of records of its topic; None if it is not known.
    """

    source: SourceNode
    partitions: int
    records: int | None = None


def repartition_hint(
    group: PartitionGroup,
    sides: Sequence[Side],
    entries: Sequence[Entry],
    *,
    by: Literal["count", "partitioner"],
) -> str:
    """Return a hint, with code, for co-partitioning inputs.

    The code repartitions all topics but the largest one. A topic's size is its number of records
    if it is known, otherwise its number of partitions.

    Args:
        group: The partition group whose inputs differ.
        sides: The sources among the inputs.
        entries: The inputs that must be co-partitioned.
        by: The property in which the inputs differ.
    """
    if not sides:
        return f"Give its repartition edges the same {_word(by)}."
    kept = max(sides, key=lambda side: (side.records or 0, side.partitions))
    edges = [entry for entry in entries if not isinstance(entry, SourceNode)]
    parts = [_edge(edge, kept, by) for edge in edges if _differs(edge, kept, by)]
    for side in sides:
        if by == "count" and side.partitions == kept.partitions:
            continue
        if by == "partitioner" and _rule(side) == _rule(kept):
            continue
        size = f" ({_size(side)}, against {_size(kept)} of {kept.source.topic.name!r})"
        parts.append(
            f"Topic {side.source.topic.name!r} is the smaller side{size}: replace its source "
            f"with a source and a "
            f"repartition:\n{repartition_lines(group, side.source, kept.source)}"
        )
    if len(sides) > 1:
        parts.append(f"Or create the topics with the same {_word(by)}.")
    return " ".join(parts)


def repartition_lines(
    group: PartitionGroup, source: SourceNode, like: SourceNode | None = None
) -> str:
    """Return lines of Python code that repartition a source's records.

    Args:
        group: The group of the source. If the source feeds a table, the code creates the table
            again.
        source: The source whose records the code repartitions.
        like: The source whose partitioner is used; None for the partitioner of `source`.
    """
    name, topic = source.name, source.topic.name
    rule = (like or source).topic
    default = isinstance(inner_rule(rule.partitioner), Murmur2Partitioner)
    partitioner = "" if default else f", partitioner=<that of {rule.name!r}>"
    table = name.removesuffix(_OF_TABLE)
    is_table = table != name and any(n.makes_table and n.name == table for n in group.processors)
    tombstones = ", with nulls='pass'" if is_table else ""
    serdes = "key=topic.key, value=topic.value"
    if is_table or source.topic.nulls == "pass":
        serdes += ", nulls='pass'"
    lines = [
        f"  # topic: the definition of {topic!r}{tombstones}",
        f"  read = builder.add_source({name!r}, topic)",
        f"  moved = builder.repartition({table + '-moved'!r}, read, {serdes}{partitioner})",
    ]
    if is_table:
        lines.append(f"  table = builder.to_table({table!r}, moved, store=store)")
    return "\n".join([*lines, f"and continue with `{'table' if is_table else 'moved'}`."])


def _word(by: Literal["count", "partitioner"]) -> str:
    return "partition count" if by == "count" else "partitioner"


def _rule(side: Side) -> object:
    return inner_rule(side.source.topic.partitioner)


def _differs(
    edge: RepartitionNode | LoopNode, kept: Side, by: Literal["count", "partitioner"]
) -> bool:
    if by == "count":
        if isinstance(edge, LoopNode):
            return False
        return edge.partitions is not None and edge.partitions != kept.partitions
    return inner_rule(edge.partitioner) != _rule(kept)


def _edge(edge: RepartitionNode | LoopNode, kept: Side, by: Literal["count", "partitioner"]) -> str:
    if by == "count" and isinstance(edge, RepartitionNode):
        return (
            f"Leave partitions={edge.partitions} out of repartition {edge.name!r}: it then gets "
            f"the {kept.partitions} partitions of topic {kept.source.topic.name!r}."
        )
    kind = "loop" if isinstance(edge, LoopNode) else "repartition"
    return (
        f"Give {kind} {edge.name!r} the partitioner of topic {kept.source.topic.name!r}: "
        f"{kept.source.topic.partitioner.name}."
    )


def _size(side: Side) -> str:
    if side.records is not None:
        return f"{side.records:,} record{'s' if side.records != 1 else ''}"
    return f"{side.partitions} partition{'s' if side.partitions != 1 else ''}"
