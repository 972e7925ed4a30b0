"""`topology.json`: the nodes and edges of an app at its last start.

    {"f": 1, "name": "shop", "fingerprint": "..", "groups": [
        {"name": "lines", "query": "lines", "tasks": 4,
         "nodes": [{"name": "split", "kind": "processor", "execution": "columns", "topic": "",
                    "stores": [], "reads": [], "log": "", "origin": "words.py:12"}],
         "stores": [{"name": "counts", "kind": "key-value", "key": "text", "value": "int64",
                     "changelog": null}]}],
     "edges": [["lines", "split"], ["split", "by-word"], ["by-word", "count"]],
     "dead_letters": [["lines", "lines-dead"]]}

The kinds of nodes are `source`, `processor`, `join`, `repartition`, `loop`, `loop-end` and `sink`.
A repartition edge is a node of the group that writes to it. `topic` is the name or label of the
topic of a source or sink. A source of a log has its label in `log`. `dead_letters` are pairs of
a node and its dead-letter topic. `origin` is the place in the code that defines the node. Earlier
versions of the library wrote neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from kstreams.graph.execution.planner import ExecutionPlanner
from kstreams.graph.named_topics import dead_letter_topics
from kstreams.graph.nodes import (
    AnyNode,
    JoinNode,
    LoopEndNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SourceNode,
)
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.state.log.fields import Fields, WrongFieldError, checked_text
from kstreams.topic import Topic

__all__ = ("GroupOutline", "NodeOutline", "Outline", "StoreOutline")


@dataclass(frozen=True)
class StoreOutline:
    """The description of a store.

    Attributes:
        name: Name of the store.
        kind: Name of the store kind.
        key: Name of the key serde.
        value: Name of the value serde.
        changelog: The changelog topic; None without a changelog.
    """

    name: str
    kind: str
    key: str
    value: str
    changelog: str | None = None


@dataclass(frozen=True)
class NodeOutline:
    """The description of a node.

    Attributes:
        name: Name of the node.
        kind: Kind of the node, see the module.
        topic: The topic of a source or sink.
        execution: Execution by records or by columns, with the reason; empty for nodes without
            a choice.
        stores: Names of the stores that the node reads and writes.
        reads: Names of the global tables that the node reads.
        log: Label of the log of a source that is not a topic.
        origin: The file and line that define the node, such as `shop.py:12`; empty if not known.
    """

    name: str
    kind: str
    topic: str = ""
    execution: str = ""
    stores: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    log: str = ""
    origin: str = ""


@dataclass(frozen=True)
class GroupOutline:
    """The description of a partition group.

    Attributes:
        name: Name of the group.
        query: The query that runs the group.
        tasks: Number of tasks.
        nodes: The nodes in topological order.
        stores: The stores, sorted by name.
    """

    name: str
    query: str
    tasks: int
    nodes: tuple[NodeOutline, ...]
    stores: tuple[StoreOutline, ...] = ()


@dataclass(frozen=True)
class Outline:
    """A topology as data.

    Attributes:
        name: Name of the topology.
        fingerprint: A digest that differs between topologies.
        groups: The groups in topological order.
        edges: Pairs of node names; records go from the first to the second.
        dead_letters: Pairs of a node and its dead-letter topic.
    """

    name: str
    fingerprint: str
    groups: tuple[GroupOutline, ...]
    edges: tuple[tuple[str, str], ...] = ()
    dead_letters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, topology: Topology, tasks: Mapping[str, int]) -> Outline:
        """Return the outline of a topology.

        Args:
            topology: The topology.
            tasks: Number of tasks by group.
        """
        queries = {group.name: chain[0].name for chain in topology.pipelines() for group in chain}
        nodes = topology.nodes.values()
        return cls(
            topology.name,
            topology.fingerprint(),
            tuple(
                GroupOutline(
                    group.name,
                    queries[group.name],
                    tasks[group.name],
                    tuple(_nodes(group)),
                    tuple(
                        StoreOutline(
                            spec.name,
                            spec.kind.name,
                            spec.key.name,
                            spec.value.name,
                            spec.changelog,
                        )
                        for spec in group.stores
                    ),
                )
                for group in topology.groups
            ),
            (
                *((parent, node.name) for node in nodes for parent in node.parents),
                *((n.name, n.loop.name) for n in nodes if isinstance(n, LoopEndNode)),
            ),
            tuple(dead_letter_topics(topology.groups)),
        )

    def sinks(self) -> tuple[NodeOutline, ...]:
        """Return the sink nodes of the app."""
        nodes = (node for group in self.groups for node in group.nodes)
        return tuple(node for node in nodes if node.kind == "sink")

    def logs(self) -> tuple[NodeOutline, ...]:
        """Return the source nodes that read a log instead of a topic."""
        nodes = (node for group in self.groups for node in group.nodes)
        return tuple(node for node in nodes if node.log)

    def to_json(self) -> dict[str, Any]:
        """Return the object as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Fields) -> Outline:
        """Parse the result of `to_json`; a `ValueError` describes the first wrong field."""
        return cls(
            fields.text("name"),
            fields.text("fingerprint"),
            tuple(_read_group(Fields(group)) for group in fields.items("groups")),
            tuple(_read_pair(edge, "an edge") for edge in fields.items("edges")),
            tuple(
                _read_pair(each, "a topic of dead letters")
                for each in (fields.items("dead_letters") if "dead_letters" in fields else ())
            ),
        )


def _nodes(group: PartitionGroup) -> list[NodeOutline]:
    executions = ExecutionPlanner(group)
    found = []
    for node in group.nodes:
        kind, topic = _kind(node)
        origin = "" if node.origin is None else str(node.origin)
        outline = NodeOutline(node.name, kind, topic, origin=origin)
        if isinstance(node, ProcessorNode):
            outline = replace(
                outline,
                execution=executions.summary(node) or "",
                stores=tuple(spec.name for spec in node.stores),
                reads=tuple(spec.name for spec in node.globals),
            )
        elif isinstance(node, SourceNode) and node.log is not None:
            outline = replace(outline, log=node.log.label)
        found.append(outline)
    return found


def _kind(node: AnyNode) -> tuple[str, str]:
    match node:
        case SourceNode():
            return "source", node.topic.name
        case JoinNode():
            return "join", ""
        case ProcessorNode():
            return "processor", ""
        case RepartitionNode():
            return "repartition", ""
        case LoopNode():
            return "loop", ""
        case LoopEndNode():
            return "loop-end", ""
        case SinkNode(target=target):
            return "sink", target.name if isinstance(target, Topic) else target.label


def _read_group(fields: Fields) -> GroupOutline:
    return GroupOutline(
        fields.text("name"),
        fields.text("query"),
        fields.integer("tasks"),
        tuple(_read_node(Fields(node)) for node in fields.items("nodes")),
        tuple(_read_store(Fields(store)) for store in fields.items("stores")),
    )


def _read_node(fields: Fields) -> NodeOutline:
    return NodeOutline(
        fields.text("name"),
        fields.text("kind"),
        fields.text("topic"),
        fields.text("execution"),
        tuple(checked_text(name, "a store") for name in fields.items("stores")),
        tuple(checked_text(name, "a store") for name in fields.items("reads")),
        fields.text("log", ""),
        fields.text("origin", ""),
    )


def _read_store(fields: Fields) -> StoreOutline:
    return StoreOutline(
        fields.text("name"),
        fields.text("kind"),
        fields.text("key"),
        fields.text("value"),
        None if fields.anything("changelog") is None else fields.text("changelog"),
    )


def _read_pair(data: object, what: str) -> tuple[str, str]:
    if not isinstance(data, list) or len(data) != 2:
        raise WrongFieldError(f"expected {what} as a pair of names, got {data!r:.80}")
    first, second = (checked_text(name, "a name") for name in data)
    return first, second
