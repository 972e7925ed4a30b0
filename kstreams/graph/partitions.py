"""How many tasks each partition group has, and whether its topics fit together."""

from __future__ import annotations

from collections.abc import Mapping

from kstreams.errors import PartitionCountError
from kstreams.graph.topology import PartitionGroup, Topology

__all__ = ("group_partitions",)


def group_partitions(topology: Topology, counts: Mapping[str, int]) -> dict[str, int]:
    """Return each group's number of partitions, which is its number of tasks.

    Args:
        topology: The topology.
        counts: Partition counts of all its source topics.

    Raises:
        PartitionCountError: Source topics of a group, or its repartition edges, differ in
            partition count or partitioner.
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
                hint="records of equal keys must meet in one task: create the topics with equal "
                "counts, or put builder.repartition(...) after one of them.",
            )
        inherited = [found[above[entry.name]] for entry in group.entries]
        found[group.name] = next(iter(wanted.values()), None) or max(inherited)
        _check_partitioners(group)
    return found


def _check_partitioners(group: PartitionGroup) -> None:
    if not group.stores:
        return
    partitioners = {f"topic {node.topic.name!r}": node.topic.partitioner for node in group.sources}
    partitioners |= {f"repartition {entry.name!r}": entry.partitioner for entry in group.entries}
    if len(set(partitioners.values())) > 1:
        listed = ", ".join(f"{name} by {p.name}" for name, p in partitioners.items())
        raise PartitionCountError(
            f"partitioners differ in group {group.name!r}: {listed}",
            hint="equal counts with another partitioner are as wrong as unequal counts.",
        )
