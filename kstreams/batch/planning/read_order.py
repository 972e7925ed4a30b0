"""The order of records with equal timestamps in several partitions, as tasks merge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kstreams.graph.nodes import RepartitionNode, SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition

__all__ = ("feeding_tables", "read_order")


def read_order(
    groups: Sequence[PartitionGroup],
) -> Callable[[TopicPartition], tuple[int, int, int, int]]:
    """Return the sort key of a query's source partitions, for records with equal timestamps.

    Partitions that feed only tables come first, so that a record finds the rows of its own time.
    Later stages come before earlier ones, because tasks process the records of their sources before
    those of edges; then come partitions by number, and in each partition its sources in the order
    of the task.

    Args:
        groups: The groups of the query, in the order of their stages.
    """
    first = feeding_tables(groups)
    places: dict[str, tuple[int, int, int]] = {}
    for stage, group in enumerate(groups):
        for number, node in enumerate(group.sources):
            topic = node.topic.name
            places[topic] = int(topic not in first), -stage, number

    def order(place: TopicPartition) -> tuple[int, int, int, int]:
        last, stage, number = places[place.topic]
        return last, stage, place.partition, number

    return order


def feeding_tables(groups: Sequence[PartitionGroup]) -> frozenset[str]:
    """Return the topics whose records reach only tables, directly or over edges."""
    tables = {name for group in groups for name in group.table_entries}
    edges = {edge.name: group for group in groups for edge in group.entries}
    below = {group.name: group.children() for group in groups}

    def feeds_tables(entry: SourceNode | RepartitionNode, group: PartitionGroup) -> bool:
        if entry.name in tables:
            return True
        exits = _exits(entry.name, below[group.name])
        return bool(exits) and all(feeds_tables(each, edges[each.name]) for each in exits)

    return frozenset(
        node.topic.name for group in groups for node in group.sources if feeds_tables(node, group)
    )


def _exits(name: str, below: Mapping[str, Sequence[object]]) -> list[RepartitionNode]:
    """Return the repartition edges that records from a source or an incoming edge reach.

    Args:
        name: The name of the source node or of the incoming edge.
        below: The child nodes of each node of the group, by name.
    """
    found: dict[str, RepartitionNode] = {}
    ways = [name]
    for way in ways:
        for node in below.get(way, ()):
            if isinstance(node, RepartitionNode):
                found[node.name] = node
            elif (child := getattr(node, "name", "")) not in ways:
                ways.append(child)
    return list(found.values())
