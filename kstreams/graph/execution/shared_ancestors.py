"""Find nodes from which records reach both inputs of a join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kstreams.graph.nodes import AnyNode, JoinNode
from kstreams.graph.topology import PartitionGroup

__all__ = ("joins_behind",)

_BOTH = 3


def joins_behind(group: PartitionGroup) -> dict[str, list[str]]:
    """Return, by node, the joins that the node's records reach on separate paths to both inputs.

    The keys of the result include the group's sources, incoming repartition edges and loops.
    """
    children = group.children()
    found: dict[str, list[str]] = {}
    for node in group.nodes:
        if isinstance(node, JoinNode):
            for name in _forks(node, group, children):
                found.setdefault(name, []).append(node.name)
    return found


def _forks(
    join: JoinNode, group: PartitionGroup, children: Mapping[str, Sequence[AnyNode]]
) -> list[str]:
    """Return the nodes from which different paths lead to both inputs of a join."""
    reached: dict[str, int] = {}  # the inputs a node leads to: 1 the left, 2 the right
    forks = []
    names = [node.name for node in reversed(group.nodes)]
    for name in (*names, *(entry.name for entry in group.entries)):
        ways = [reached.get(child.name, 0) for child in children[name] if child is not join]
        ways += [bit for bit, port in zip((1, 2), join.ports, strict=True) if port == name]
        both = 0
        for way in ways:
            both |= way
        reached[name] = both
        if both == _BOTH and len([way for way in ways if way]) > 1:
            forks.append(name)
    return forks
