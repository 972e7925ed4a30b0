"""How many tasks each partition group has, and whether its topics fit together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kstreams.errors import PartitionCountError
from kstreams.graph.meetings import inner_rule
from kstreams.graph.mending import Side, repartition_hint
from kstreams.graph.topology import PartitionGroup, Topology

__all__ = ("group_partitions",)


def group_partitions(
    topology: Topology,
    counts: Mapping[str, int],
    records: Callable[[str], int] | None = None,
) -> dict[str, int]:
    """Return each group's number of partitions, which is its number of tasks.

    Args:
        topology: The topology.
        counts: Partition counts of all its source topics.
        records: Returns how many records a topic has, for the advice of an error; None where
            that is not known.

    Raises:
        PartitionCountError: Source topics of a group, or its repartition edges, differ in
            partition count or partitioner; the hint says what to write.
    """
    found: dict[str, int] = {}
    above = {edge.name: group.name for group in topology.groups for edge in group.exits}
    for group in topology.groups:
        wanted = {f"topic {n.topic.name!r}": counts[n.topic.name] for n in group.sources}
        wanted |= {f"repartition {e.name!r}": e.partitions for e in group.entries if e.partitions}
        if len(set(wanted.values())) > 1:
            listed = ", ".join(f"{name} has {count}" for name, count in wanted.items())
            raise PartitionCountError(
                f"partition counts differ in group {group.name!r}: {listed}",
                hint="records of equal keys must meet in one task. "
                + repartition_hint(group, _sides(group, counts, records), by="count"),
            )
        inherited = [found[above[entry.name]] for entry in group.entries]
        if not (wanted or inherited):  # loops alone lead here
            inherited = [max(_counts_beside(topology, group, counts))]
        found[group.name] = next(iter(wanted.values()), None) or max(inherited)
        _check_partitioners(group, counts, records)
    return found


def _counts_beside(
    topology: Topology, group: PartitionGroup, counts: Mapping[str, int]
) -> Iterator[int]:
    """Yield the partition counts of the topics that the group's pipeline reads."""
    for groups in topology.pipelines():
        if group in groups:
            yield from (counts[node.topic.name] for each in groups for node in each.sources)


def _check_partitioners(
    group: PartitionGroup, counts: Mapping[str, int], records: Callable[[str], int] | None
) -> None:
    if not group.stores:
        return
    partitioners = {f"topic {node.topic.name!r}": node.topic.partitioner for node in group.sources}
    partitioners |= {f"repartition {entry.name!r}": entry.partitioner for entry in group.entries}
    partitioners |= {f"loop {loop.name!r}": loop.partitioner for loop in group.loops}
    if len({inner_rule(partitioner) for partitioner in partitioners.values()}) > 1:
        listed = ", ".join(f"{name} by {p.name}" for name, p in partitioners.items())
        raise PartitionCountError(
            f"partitioners differ in group {group.name!r}: {listed}",
            hint="equal counts with another partitioner are as wrong as unequal counts. "
            + repartition_hint(group, _sides(group, counts, records), by="partitioner"),
        )


def _sides(
    group: PartitionGroup, counts: Mapping[str, int], records: Callable[[str], int] | None
) -> list[Side]:
    return [
        Side(
            node,
            counts[node.topic.name],
            None if records is None else records(node.topic.name),
        )
        for node in group.sources
    ]
