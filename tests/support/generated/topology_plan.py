"""A topology as plain data that can be drawn, built, interpreted and printed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from kstreams import INT64, TEXT, DeadLetter, Node, Record, Topic, Topology, TopologyBuilder
from kstreams.io import topic_by
from tests.support.generated.processors import KINDS, store_of

__all__ = (
    "DEAD_LETTERS",
    "EdgePlan",
    "NodePlan",
    "Plan",
    "SinkPlan",
    "SourcePlan",
)

DEAD_LETTERS = "dlq"
"""Name of the dead-letter topic."""


@dataclass(frozen=True)
class SourcePlan:
    """A source; it has the name of its topic."""

    name: str
    nulls: str
    null_keys: str


@dataclass(frozen=True)
class NodePlan:
    """A processor of `nodes.KINDS`, or `branch` or `merge` of the builder."""

    name: str
    kind: str
    parents: tuple[str, ...]
    number: int = 1
    store: str | None = None


@dataclass(frozen=True)
class EdgePlan:
    """A repartition edge."""

    name: str
    parents: tuple[str, ...]
    partitions: int


@dataclass(frozen=True)
class SinkPlan:
    """A sink; `by` selects one of two topics for each record."""

    name: str
    parents: tuple[str, ...]
    by: bool = False


@dataclass(frozen=True)
class Plan:
    """A whole topology; parents come before children."""

    sources: tuple[SourcePlan, ...]
    nodes: tuple[NodePlan | EdgePlan, ...]
    sinks: tuple[SinkPlan, ...]
    on_error: str = "fail"
    partitions: dict[str, int] = field(default_factory=dict)

    def topology(self) -> Topology:
        """Build the topology."""
        policy: Any = DeadLetter(DEAD_LETTERS) if self.on_error == "dead-letter" else self.on_error
        builder = TopologyBuilder("drawn", on_error=policy)
        handles: dict[str, Node[Any, Any]] = {}
        for source in self.sources:
            topic = _topic(source.name, source.nulls, source.null_keys)
            handles[source.name] = builder.add_source(source.name, topic)
        for node in self.nodes:
            parents = [handles[parent] for parent in node.parents]
            handles |= _added(builder, node, parents)
        for sink in self.sinks:
            target: Any = _topic(sink.name, "pass", "pass")
            if sink.by:
                target = topic_by(partial(chosen, sink.name), key=TEXT, value=INT64, nulls="pass")
            builder.add_sink(f"to-{sink.name}", target, *(handles[name] for name in sink.parents))
        return builder.build()

    def describe(self) -> str:
        """Return a description with a line for each node."""
        lines = [f"on_error={self.on_error} partitions={self.partitions}"]
        for item in (*self.sources, *self.nodes, *self.sinks):
            lines.append(f"  {item}")
        return "\n".join(lines)


def _added(
    builder: TopologyBuilder, node: NodePlan | EdgePlan, parents: list[Node[Any, Any]]
) -> dict[str, Node[Any, Any]]:
    """Add a node; return its handles."""
    if isinstance(node, EdgePlan):
        count = node.partitions
        edge = builder.repartition(node.name, *parents, key=TEXT, value=INT64, partitions=count)
        return {node.name: edge}
    if node.kind == "merge":
        return {node.name: builder.merge(node.name, *parents)}
    if node.kind == "branch":
        tests: dict[str, Callable[[Any, Any], bool]] = {"low": partial(takes, node.number)}
        branches = builder.branch(node.name, parents[0], tests, default="high")
        return {f"{node.name}.{label}": handle for label, handle in branches.items()}
    supplier = partial(KINDS[node.kind], node.number, node.store)
    stores = [store_of(node.store)] if node.store else []
    return {node.name: builder.add_processor(node.name, supplier, *parents, stores=stores)}


def _topic(name: str, nulls: Any, null_keys: Any) -> Topic[Any, Any]:
    return Topic(name, TEXT, INT64, nulls=nulls, null_keys=null_keys)


def chosen(name: str, record: Record[Any, Any]) -> str:
    """Return the topic of a record."""
    return f"{name}-{(record.value or 0) % 2}"


def takes(number: int, _: Any, value: Any) -> bool:
    """Return whether the low branch accepts a value."""
    return value is not None and value % 10 < number
