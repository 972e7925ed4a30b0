"""The `limit` nodes of a topology, and the inputs with an effect after nodes reach their limit."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from kstreams.graph.nodes import AnyNode, LoopEndNode, ProcessorNode
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.log import is_bounded
from kstreams.processors.limit import limit_of

__all__ = ("Reach", "ends_by_itself", "limits_of")


def limits_of(groups: Iterable[PartitionGroup]) -> dict[str, int]:
    """Return the maximum number of records that each `limit` node forwards, by node."""
    return {
        node.name: count
        for group in groups
        for node in group.processors
        if (count := limit_of(node.supplier)) is not None
    }


def ends_by_itself(topology: Topology) -> bool:
    """Return whether a run may end by itself: it has a `limit`, or all of its sources end."""
    return bool(limits_of(topology.groups)) or all(
        is_bounded(node.log) for node in topology.sources
    )


class Reach:
    """Finds the inputs of groups whose records can still have an effect.

    A record has an effect if it reaches a node without children: a sink, an edge that leaves the
    groups, or a processor. A record that reaches a node with a store also reaches all nodes that
    use the store.

    Args:
        groups: All groups of a query, or one group.
    """

    def __init__(self, groups: Sequence[PartitionGroup]) -> None:
        self._groups = groups

    @cached_property
    def _below(self) -> Mapping[str, set[str]]:
        return _below(self._groups)

    def open_inputs(self, reached: Collection[str]) -> frozenset[str]:
        """Return the inputs from which a record can have an effect.

        Args:
            reached: The names of the `limit` nodes that have reached their limit and forward no
                more records.
        """
        inputs = (entry.name for group in self._groups for entry in group.inputs)
        return frozenset(name for name in inputs if self._has_effect(name, reached))

    def _has_effect(self, name: str, reached: Collection[str]) -> bool:
        seen, waiting = {name}, [name]
        while waiting:
            node = waiting.pop()
            if node in reached:
                continue
            below = self._below[node]
            if not below:
                return True
            waiting.extend(child for child in below if child not in seen)
            seen.update(below)
        return False


def _below(groups: Sequence[PartitionGroup]) -> Mapping[str, set[str]]:
    """Return, by node, the nodes that it affects directly by records, a store or a loop."""
    found: dict[str, set[str]] = {}
    for group in groups:
        for name, children in group.children().items():
            found.setdefault(name, set()).update(child.name for child in children)
    nodes = [node for group in groups for node in group.nodes]
    inputs = {entry.name for group in groups for entry in group.inputs}
    users = _users(nodes)
    for node in nodes:
        if isinstance(node, LoopEndNode) and node.loop.name in inputs:
            found[node.name].add(node.loop.name)
        if isinstance(node, ProcessorNode):
            for spec in node.stores:
                found[node.name] |= users[spec.name] - {node.name}
    return found


def _users(nodes: Iterable[AnyNode]) -> dict[str, set[str]]:
    """Return the nodes that use each store."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ProcessorNode):
            for spec in (*node.stores, *node.reads, *node.globals):
                found.setdefault(spec.name, set()).add(node.name)
    return found
