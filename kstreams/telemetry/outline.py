"""`topology.json`: the nodes of an app and what leads to what, as it was started last.

    {"f": 1, "name": "shop", "fingerprint": "..", "groups": [
        {"name": "lines", "query": "lines", "tasks": 4,
         "nodes": [{"name": "split", "kind": "processor", "execution": "columns", "topic": "",
                    "stores": [], "reads": []}],
         "stores": [{"name": "counts", "kind": "key-value", "key": "text", "value": "int64",
                     "changelog": null}]}],
     "edges": [["lines", "split"], ["split", "by-word"], ["by-word", "count"]],
     "dead_letters": [["lines", "lines-dead"]]}

The kinds of nodes are `source`, `processor`, `join`, `repartition`, `loop`, `loop-end` and `sink`.
A repartition edge is among the nodes of the group that it leaves. `topic` is what a source reads,
or a sink writes to, by its name or label. A source that is a log has its label in `log`.
`dead_letters` are nodes with the topics that they set records aside in; earlier versions of the
library have not written them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kstreams.graph.execution import ExecutionPlanner
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
    """A store.

    Attributes:
        name: Its name.
        kind: The name of its kind.
        key: The name of its key's serde.
        value: The name of its value's serde.
        changelog: The topic of its changelog; None: it has none.
    """

    name: str
    kind: str
    key: str
    value: str
    changelog: str | None = None


@dataclass(frozen=True)
class NodeOutline:
    """A node.

    Attributes:
        name: Its name.
        kind: What it is; see the module.
        topic: What it reads or writes, if it is a source or a sink.
        execution: Whether it runs by records or by columns, and why; empty where that is no
            question.
        stores: Those that it reads and writes.
        reads: Those of global tables that it reads.
        log: What a source reads that is no topic, by its label.
    """

    name: str
    kind: str
    topic: str = ""
    execution: str = ""
    stores: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    log: str = ""


@dataclass(frozen=True)
class GroupOutline:
    """A partition group.

    Attributes:
        name: Its name.
        query: The query that runs it.
        tasks: How many tasks it has.
        nodes: In topological order.
        stores: By name.
    """

    name: str
    query: str
    tasks: int
    nodes: tuple[NodeOutline, ...]
    stores: tuple[StoreOutline, ...] = ()


@dataclass(frozen=True)
class Outline:
    """A topology, as data.

    Attributes:
        name: Its name.
        fingerprint: Differs when the topology does.
        groups: In topological order.
        edges: Pairs of nodes' names: what the first gives, the second takes.
        dead_letters: Pairs of a node and the topic that it sets records aside in.
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
        """Return the nodes that write what leaves the app."""
        nodes = (node for group in self.groups for node in group.nodes)
        return tuple(node for node in nodes if node.kind == "sink")

    def logs(self) -> tuple[NodeOutline, ...]:
        """Return the sources that read no topics."""
        nodes = (node for group in self.groups for node in group.nodes)
        return tuple(node for node in nodes if node.log)

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, fields: Fields) -> Outline:
        """Read what `to_json` returned; `ValueError` says what is wrong with it."""
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
        if isinstance(node, ProcessorNode):
            execution = executions.summary(node) or ""
            stores = tuple(spec.name for spec in node.stores)
            reads = tuple(spec.name for spec in node.globals)
            found.append(NodeOutline(node.name, kind, topic, execution, stores, reads))
        elif isinstance(node, SourceNode) and node.log is not None:
            found.append(NodeOutline(node.name, kind, topic, log=node.log.label))
        else:
            found.append(NodeOutline(node.name, kind, topic))
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
        raise WrongFieldError(f"{what} is not two names")
    first, second = (checked_text(name, "a name") for name in data)
    return first, second
