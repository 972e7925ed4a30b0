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
"""The properties on which state depends: by group, by kind (`sources`, `entries`, `stores`,
`parameters`, `loops` or `joins`), and by name.
"""


@dataclass(frozen=True)
class PartitionGroup:
    """Nodes connected by forwarding or by a shared store; Kafka Streams' sub-topology.

    One task runs a group at one partition. `nodes` are in topological order, and include the
    repartition nodes that lead out of the group (`exits`); `entries` are the repartition nodes that
    lead into the group. The group has the name of its first source, entry or loop. After
    `idle_timeout_ms` without records (None: never) the stream time of a task advances with the wall
    clock. Records younger than `settle_ms` are left for later batches.
    """

    name: str
    nodes: tuple[AnyNode, ...]
    entries: tuple[RepartitionNode, ...]
    idle_timeout_ms: int | None = None
    settle_ms: int = 0

    @property
    def sources(self) -> tuple[SourceNode, ...]:
        """Source nodes, in the order of addition."""
        return tuple(node for node in self.nodes if isinstance(node, SourceNode))

    @property
    def processors(self) -> tuple[ProcessorNode, ...]:
        """Processor nodes, in topological order."""
        return tuple(node for node in self.nodes if isinstance(node, ProcessorNode))

    @property
    def sinks(self) -> tuple[SinkNode, ...]:
        """Sink nodes, in the order of addition."""
        return tuple(node for node in self.nodes if isinstance(node, SinkNode))

    @property
    def exits(self) -> tuple[RepartitionNode, ...]:
        """Repartition nodes that lead out of the group."""
        return tuple(node for node in self.nodes if isinstance(node, RepartitionNode))

    @property
    def loops(self) -> tuple[LoopNode, ...]:
        """Loops that the group reads, in the order of addition."""
        return tuple(node for node in self.nodes if isinstance(node, LoopNode))

    @property
    def loop_ends(self) -> tuple[LoopEndNode, ...]:
        """Nodes of the group that write to loops, also to loops of other groups."""
        return tuple(node for node in self.nodes if isinstance(node, LoopEndNode))

    @property
    def from_tasks(self) -> tuple[RepartitionNode | LoopNode, ...]:
        """The repartition edges and loops that the group reads; tasks write to them."""
        return (*self.entries, *self.loops)

    @property
    def inputs(self) -> tuple[Entry, ...]:
        """The sources, repartition edges and loops that the group reads.

        At equal times, their records are processed in this order.
        """
        return (*self.sources, *self.from_tasks)

    @property
    def followers(self) -> frozenset[str]:
        """Inputs whose records do not advance stream time: the loops, if there are other inputs."""
        return frozenset(loop.name for loop in self.loops if self.sources or self.entries)

    @property
    def depth(self) -> int:
        """Length of the longest chain of processor calls for one record."""
        return deepest(self.nodes)[0]

    @property
    def stores(self) -> tuple[StoreSpec[object], ...]:
        """Stores of the group, sorted by name."""
        found = {spec.name: spec for node in self.processors for spec in node.stores}
        return tuple(found[name] for name in sorted(found))

    @cached_property
    def table_entries(self) -> frozenset[str]:
        """Names of the sources and incoming repartition edges whose records only update tables.

        At equal times, their records are processed before records of other inputs, so that a record
        sees the table row of its time.
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
        """Return the parameters on which each store's rows depend, by store name."""
        found = {spec.name: spec.parameters() for spec in self.stores}
        for node in self.processors:
            for store, own in node.store_parameters.items():
                found[store] |= own
        return found

    @property
    def global_stores(self) -> tuple[StoreSpec[object], ...]:
        """Stores of the global tables that the group reads, sorted by name."""
        found = {spec.name: spec for node in self.processors for spec in node.globals}
        return tuple(found[name] for name in sorted(found))

    def children(self) -> dict[str, list[AnyNode]]:
        """Return the children of each node and incoming edge, in the order of addition."""
        found: dict[str, list[AnyNode]] = {entry.name: [] for entry in self.entries}
        found |= {node.name: [] for node in self.nodes}
        for node in self.nodes:
            for parent in node.parents:
                found[parent].append(node)
        return found


@dataclass(frozen=True, eq=False)
class Topology:
    """A validated topology, the result of `TopologyBuilder.build`.

    `groups` are in topological order; `globals` are the global tables.
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
        """The stores of all groups, in the order of the groups, without global tables."""
        return tuple(spec for group in self.groups for spec in group.stores)

    def pipelines(self) -> tuple[tuple[PartitionGroup, ...], ...]:
        """Return, for each query, its groups in topological order; edges and loops connect them."""
        return tuple(_joined(self.groups))

    def group_of_store(self, store: str) -> PartitionGroup:
        """Return the group that a store belongs to; raises `KeyError` if there is none."""
        for group in self.groups:
            if any(spec.name == store for spec in group.stores):
                return group
        raise KeyError(store)

    def shape(self) -> Shape:
        """Return the properties on which a checkpoint depends, by group, as plain data.

        Serdes and partitioners are given by name: they determine the task of a key and the bytes of
        its state. Stateless nodes are omitted, because they may change freely.
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
        """Return the fingerprint's version and a digest of `shape()`, joined by a colon.

        The digest does not include the parameters of stores, some of which may change without a
        loss of state.
        """
        text = json.dumps(without_parameters(self.shape()), sort_keys=True)
        return f"{_SHAPE_VERSION}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"

    def describe(self) -> str:
        """Return the topology as indented text, in the format of Kafka Streams."""
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

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the text and the Mermaid diagram for notebooks, by MIME type."""
        return {"text/plain": self.describe(), "text/vnd.mermaid": self.to_mermaid()}


def without_parameters(shape: Mapping[str, Mapping[str, _Part]]) -> dict[str, dict[str, _Part]]:
    """Return the result of `Topology.shape` without the parameters of stores."""
    return {
        group: {part: content for part, content in parts.items() if part != "parameters"}
        for group, parts in shape.items()
    }


def parameters_in(shape: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Return the parameters of a shape's stores, by store; empty for shapes of earlier releases."""
    return {
        store: own for parts in shape.values() for store, own in parts.get("parameters", {}).items()
    }


def _loops(group: PartitionGroup) -> dict[str, dict[str, dict[str, object]]]:
    """Return a group's loops as part of its shape; empty if there are none."""
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
    """Return the settings of a group's joins as part of its shape; empty if there are none."""
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
