"""The built topology: immutable, validated, divided into partition groups."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

from kstreams.graph.depth import deepest
from kstreams.graph.global_tables import GlobalDefinition
from kstreams.graph.nodes import (
    AnyNode,
    Entry,
    LoopEndNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SourceNode,
)
from kstreams.parameters import Parameter
from kstreams.state.stores.spec import StoreSpec

__all__ = ("PartitionGroup", "Shape", "Topology", "parameters_in", "without_parameters")

_SHAPE_VERSION = 2
_Part = TypeVar("_Part")

Shape = dict[str, dict[str, dict[str, dict[str, object]]]]
"""By group, by `sources`, `entries`, `stores`, `parameters`, `loops` or `joins`, and by name: what
state depends on."""


@dataclass(frozen=True)
class PartitionGroup:
    """Nodes connected by forwarding or by a shared store; Kafka Streams' sub-topology.

    One task runs a group at one partition. `nodes` are in topological order and include
    the repartition nodes that leave the group (`exits`); the ones that enter it are
    `entries`. The group has the name of its first source, entry or loop. After `idle_timeout_ms`
    without records (None: never) the stream time of a task advances with the wall clock. Records of
    the last `settle_ms` are left for later batches.
    """

    name: str
    nodes: tuple[AnyNode, ...]
    entries: tuple[RepartitionNode, ...]
    idle_timeout_ms: int | None = None
    settle_ms: int = 0

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        """Source nodes, in the order they were added."""
        return tuple(node for node in self.nodes if isinstance(node, SourceNode))

    @property
    def processors(self) -> tuple[ProcessorNode, ...]:
        """Processor nodes, in topological order."""
        return tuple(node for node in self.nodes if isinstance(node, ProcessorNode))

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        """Sink nodes, in the order they were added."""
        return tuple(node for node in self.nodes if isinstance(node, SinkNode))

    @property
    def exits(self) -> tuple[RepartitionNode, ...]:
        """Repartition nodes that take records out of the group."""
        return tuple(node for node in self.nodes if isinstance(node, RepartitionNode))

    @property
    def loops(self) -> tuple[LoopNode, ...]:
        """Loops that the group reads, in the order they were added."""
        return tuple(node for node in self.nodes if isinstance(node, LoopNode))

    @property
    def loop_ends(self) -> tuple[LoopEndNode, ...]:
        """Nodes that write to loops, which may be another group's of its pipeline."""
        return tuple(node for node in self.nodes if isinstance(node, LoopEndNode))

    @property
    def from_tasks(self) -> tuple[RepartitionNode | LoopNode, ...]:
        """The entries of the group that receive records from tasks."""
        return (*self.entries, *self.loops)

    @property
    def inputs(self) -> tuple[Entry, ...]:
        """All ways into the group: at equal times, records come in this order."""
        return (*self.sources, *self.from_tasks)

    @property
    def followers(self) -> frozenset[str]:
        """Inputs whose records do not move stream time: loops, where there is another input."""
        return frozenset(loop.name for loop in self.loops if self.sources or self.entries)

    @property
    def depth(self) -> int:
        """Length of the longest chain of calls for one record."""
        return deepest(self.nodes)[0]

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """Stores of the group, by name."""
        found = {spec.name: spec for node in self.processors for spec in node.stores}
        return tuple(found[name] for name in sorted(found))

    @cached_property
    def table_entries(self) -> frozenset[str]:
        """Sources and entries whose records do nothing but change tables.

        At equal times they come before others, so that a record sees the row of its time.
        """
        children = self.children()
        feeds: dict[str, bool] = {}
        for node in reversed(self.nodes):
            below = children[node.name]
            makes = isinstance(node, ProcessorNode) and node.makes_table
            feeds[node.name] = makes or (bool(below) and all(feeds[child.name] for child in below))
        entries = [*(node.name for node in self.sources), *(node.name for node in self.entries)]
        return frozenset(
            name
            for name in entries
            if children[name] and all(feeds[child.name] for child in children[name])
        )

    def parameters(self) -> dict[str, dict[str, Parameter]]:
        """Return the parameters that the rows of each store depend on, by the store's name."""
        found = {spec.name: spec.parameters() for spec in self.stores}
        for node in self.processors:
            for store, own in node.store_parameters.items():
                found[store] |= own
        return found

    @property
    def global_stores(self) -> tuple[StoreSpec[object], ...]:
        """Stores of the global tables that the group reads, by name."""
        found = {spec.name: spec for node in self.processors for spec in node.globals}
        return tuple(found[name] for name in sorted(found))

    def children(self) -> dict[str, list[AnyNode]]:
        """Return the nodes that read from each node and entry, in the order they were added."""
        found: dict[str, list[AnyNode]] = {entry.name: [] for entry in self.entries}
        found |= {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for parent in node.parents:
                found[parent].append(node)
        return found


@dataclass(frozen=True, eq=False)
class Topology:
    """The result of `TopologyBuilder.build`. Groups are in topological order.

    `globals` are the tables that tasks read by any key.
    """

    name: str
    groups: tuple[PartitionGroup, ...]
    globals: tuple[GlobalDefinition, ...] = ()

    @property
    def nodes(self) -> Mapping[str, AnyNode]:
        """All nodes by name, group by group."""
        return MappingProxyType({node.name: node for group in self.groups for node in group.nodes})

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        """All source nodes."""
        return tuple(node for group in self.groups for node in group.sources)

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        """All sink nodes."""
        return tuple(node for group in self.groups for node in group.sinks)

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """All stores."""
        return tuple(spec for group in self.groups for spec in group.stores)

    def pipelines(self) -> tuple[tuple[PartitionGroup, ...], ...]:
        """Return groups joined by edges and loops, in topological order: one query each."""
        return tuple(_joined(self.groups))

    def group_of_store(self, store: str) -> PartitionGroup:
        """Return the group that a store belongs to; `KeyError` when there is none."""
        for group in self.groups:
            if any(spec.name == store for spec in group.stores):
                return group
        raise KeyError(store)

    def shape(self) -> Shape:
        """Return the properties on which a checkpoint depends, by group, as plain data.

        Serdes and partitioners have names: they decide the task and the bytes of a key's state.
        Stateless nodes are left out: they may change freely.
        """
        return {
            group.name: {
                "sources": {
                    node.topic.name: {
                        "key": node.topic.key.name,
                        "partitioner": node.topic.partitioner.name,
                    }
                    for node in sorted(group.sources, key=lambda node: node.topic.name)
                },
                "entries": {
                    edge.name: {
                        "key": edge.key.name,
                        "value": edge.value.name,
                        "partitions": edge.partitions,
                        "partitioner": edge.partitioner.name,
                    }
                    for edge in sorted(group.entries, key=lambda edge: edge.name)
                },
                "stores": {spec.name: {**spec.schema()} for spec in group.stores},
                "parameters": {name: {**own} for name, own in group.parameters().items()},
                **_loops(group),
                **_joins(group),
            }
            for group in self.groups
        }

    def fingerprint(self) -> str:
        """Return the version of the fingerprint, and a digest of the result of `shape`.

        The parameters of stores are not part of it: some may change without a loss of state.
        """
        text = json.dumps(without_parameters(self.shape()), sort_keys=True)
        return f"{_SHAPE_VERSION}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def describe(self) -> str:
        """Return the topology as indented text, in Kafka Streams' manner."""
        from kstreams.graph.pictures.describe import describe  # noqa: PLC0415  # pictures read this module

        return describe(self)

    def to_mermaid(self) -> str:
        """Return a Mermaid flow chart of groups, nodes, stores and topics."""
        from kstreams.graph.pictures.mermaid import to_mermaid  # noqa: PLC0415

        return to_mermaid(self)

    def to_dot(self) -> str:
        """Return a Graphviz digraph of groups, nodes, stores and topics."""
        from kstreams.graph.pictures.dot import to_dot  # noqa: PLC0415

        return to_dot(self)


def without_parameters(shape: Mapping[str, Mapping[str, _Part]]) -> dict[str, dict[str, _Part]]:
    """Return a shape without the parameters of stores."""
    return {
        group: {part: content for part, content in parts.items() if part != "parameters"}
        for group, parts in shape.items()
    }


def parameters_in(shape: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the parameters of a shape's stores, by store; none of an earlier version's."""
    return {
        store: own for parts in shape.values() for store, own in parts.get("parameters", {}).items()
    }


def _loops(group: PartitionGroup) -> dict[str, dict[str, dict[str, object]]]:
    """Return a group's loops as part of its shape; nothing where there are none."""
    loops: dict[str, dict[str, object]] = {
        loop.name: {
            "key": loop.key.name,
            "value": loop.value.name,
            "partitioner": loop.partitioner.name,
        }
        for loop in sorted(group.loops, key=lambda loop: loop.name)
    }
    return {"loops": loops} if loops else {}


def _joins(group: PartitionGroup) -> dict[str, dict[str, dict[str, object]]]:
    """Return the terms of a group's joins, as part of its shape; empty without joins."""
    nodes = sorted(group.processors, key=lambda node: node.name)
    joins: dict[str, dict[str, object]] = {
        node.name: {**terms} for node in nodes if (terms := node.terms)
    }
    return {"joins": joins} if joins else {}


def _joined(groups: tuple[PartitionGroup, ...]) -> Iterator[tuple[PartitionGroup, ...]]:
    home = {group.name: group.name for group in groups}

    def find(name: str) -> str:
        while home[name] != name:
            name = home[name]
        return name

    by_exit = {edge.name: group.name for group in groups for edge in group.exits}
    by_exit |= {end.loop.name: group.name for group in groups for end in group.loop_ends}
    for group in groups:
        for entry in group.from_tasks:
            home[find(group.name)] = find(by_exit[entry.name])
    roots = dict.fromkeys(find(group.name) for group in groups)
    for root in roots:
        yield tuple(group for group in groups if find(group.name) == root)
