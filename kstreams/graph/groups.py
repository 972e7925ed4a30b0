"""Divide a topology into partition groups: nodes that share records or a store."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

from kstreams.graph.nodes import AnyNode, LoopNode, ProcessorNode, RepartitionNode, SourceNode
from kstreams.graph.topology import PartitionGroup

__all__ = ("partition_groups", "topological_order")


def topological_order(nodes: Mapping[str, AnyNode]) -> tuple[list[AnyNode], list[str]]:
    """Sort nodes so that parents come before children, and otherwise in the order of addition.

    Returns:
        The sorted nodes, and the names of the nodes on or below a cycle.
    """
    places = {name: place for place, name in enumerate(nodes)}
    in_order = list(nodes.values())
    missing = {node.name: len(set(node.parents)) for node in in_order}
    children: dict[str, list[str]] = {name: [] for name in nodes}
    for node in in_order:
        for parent in dict.fromkeys(node.parents):
            children[parent].append(node.name)
    ready = [places[name] for name, count in missing.items() if count == 0]
    placed: list[AnyNode] = []
    while ready:
        node = in_order[heapq.heappop(ready)]
        placed.append(node)
        for child in children[node.name]:
            missing[child] -= 1
            if missing[child] == 0:
                heapq.heappush(ready, places[child])
    return placed, [name for name, count in missing.items() if count > 0]


class _Sets:
    """Disjoint sets of names, which can be merged (union-find)."""

    def __init__(self, names: Iterable[str]) -> None:
        self._parent = {name: name for name in names}

    def find(self, name: str) -> str:
        while self._parent[name] != name:
            self._parent[name] = self._parent[self._parent[name]]
            name = self._parent[name]
        return name

    def join(self, one: str, other: str) -> None:
        self._parent[self.find(other)] = self.find(one)


def partition_groups(
    ordered: list[AnyNode], idle_timeout_ms: int | None = None, settle_ms: int = 0
) -> tuple[PartitionGroup, ...]:
    """Divide topologically sorted nodes into partition groups, sorted topologically."""
    edges = {node.name: node for node in ordered if isinstance(node, RepartitionNode)}
    sets = _Sets(node.name for node in ordered)
    entered: dict[str, str] = {}
    user_of_store: dict[str, str] = {}
    for node in ordered:
        for parent in node.parents:
            if parent in edges:
                sets.join(entered.setdefault(parent, node.name), node.name)
            else:
                sets.join(parent, node.name)
        if isinstance(node, ProcessorNode):
            for spec in (*node.stores, *node.reads):
                sets.join(user_of_store.setdefault(spec.name, node.name), node.name)
    members: dict[str, list[AnyNode]] = {}
    for node in ordered:
        members.setdefault(sets.find(node.name), []).append(node)
    groups = [_group(nodes, edges, idle_timeout_ms, settle_ms) for nodes in members.values()]
    return tuple(_ordered(groups))


def _group(
    nodes: list[AnyNode],
    edges: Mapping[str, RepartitionNode],
    idle_timeout_ms: int | None,
    settle_ms: int,
) -> PartitionGroup:
    entries = dict.fromkeys(p for node in nodes for p in node.parents if p in edges)
    heads = [node.name for node in nodes if isinstance(node, SourceNode)] + list(entries)
    heads += [node.name for node in nodes if isinstance(node, LoopNode)]
    own = tuple(edges[name] for name in entries)
    return PartitionGroup(heads[0], tuple(nodes), own, idle_timeout_ms, settle_ms)


def _ordered(groups: list[PartitionGroup]) -> list[PartitionGroup]:
    """Sort groups so that each follows the groups that feed its edges, topics and global tables.

    Groups on a cycle keep the order of addition.
    """
    by_exit = {edge.name: group.name for group in groups for edge in group.exits}
    by_topic: dict[str, list[str]] = {}
    for group in groups:
        for sink in group.sinks:
            name = getattr(sink.target, "name", None)
            if name is not None:
                by_topic.setdefault(name, []).append(group.name)

    home = {spec.name: group.name for group in groups for spec in group.stores}

    def needs(group: PartitionGroup, waiting: set[str]) -> bool:
        edges = {by_exit[entry.name] for entry in group.entries}
        topics = {g for s in group.sources for g in by_topic.get(s.topic.name, ())}
        tables = {home[spec.name] for spec in group.global_stores if spec.name in home}
        return bool((edges | topics | tables) & (waiting - {group.name}))

    placed: list[PartitionGroup] = []
    waiting = list(groups)
    while waiting:
        names = {group.name for group in waiting}
        ready = [group for group in waiting if not needs(group, names)]
        if not ready:
            ready = [_least_bound(waiting, by_exit, names)]
        placed.extend(ready)
        waiting = [group for group in waiting if group not in ready]
    return placed


def _least_bound(
    waiting: list[PartitionGroup], by_exit: Mapping[str, str], names: set[str]
) -> PartitionGroup:
    """Return the group to sort next if all waiting groups depend on each other.

    It is the first group that reads no repartition edge of another waiting group. If there is no
    such group, it is the first waiting group: a shared store then makes edges form a cycle, which
    `build` reports.

    Args:
        waiting: The groups that are not sorted yet.
        by_exit: By repartition edge, the group that writes to it.
        names: The names of the groups in `waiting`.
    """
    for group in waiting:
        if not {by_exit[entry.name] for entry in group.entries} & (names - {group.name}):
            return group
    return waiting[0]
