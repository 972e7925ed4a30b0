"""A topology as indented text, in the format of Kafka Streams' `Topology#describe`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kstreams.graph.chained_windows import Chain, chains
from kstreams.graph.execution.planner import ExecutionPlanner
from kstreams.graph.nodes import (
    AnyNode,
    FunctionSink,
    JoinNode,
    LoopEndNode,
    LoopNode,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SinkTarget,
    SourceNode,
    StdoutSink,
)
from kstreams.graph.pictures.drawing import printable
from kstreams.log import is_bounded
from kstreams.processors.limit import limit_of
from kstreams.serde.base import Serde
from kstreams.topic import Topic, TopicChoice

if TYPE_CHECKING:
    from kstreams.graph.global_tables import GlobalDefinition
    from kstreams.graph.topology import PartitionGroup, Topology

__all__ = ("describe",)

_PLAIN = re.compile(r"[\w.\-]+( [\w.\-]+)*")
"""Names that need no quotes, because they cannot be mistaken for other parts of the text."""


@dataclass(frozen=True)
class _Edges:
    """The groups that write and read each repartition edge and loop."""

    above: Mapping[str, str]
    below: Mapping[str, str]


def describe(topology: Topology) -> str:
    """Return a topology as text: groups with their nodes, edges and stores.

    The name of a group is followed by its number, as in Kafka Streams. Each node has its children
    after `-->` and its parents after `<--`. A repartition edge appears in the group that it leaves
    and in the group that it enters; a loop appears where it is read, and its end where it is
    written. A node that can run by records or by columns has a line `execution:` with the reason,
    as far as it follows from the topology: with an interceptor without `bind_columns`, all nodes
    run by records. Windows of windowed results that may be late have a line `late:`. A node with an
    origin has a line `defined at:`. The text is the same for equal
    topologies, and ends with a newline.
    """
    lines = [f"Topology: {_name(topology.name)}"]
    edges = _Edges(
        {
            **{edge.name: group.name for group in topology.groups for edge in group.exits},
            **{e.loop.name: group.name for group in topology.groups for e in group.loop_ends},
        },
        {
            **{edge.name: group.name for group in topology.groups for edge in group.entries},
            **{loop.name: group.name for group in topology.groups for loop in group.loops},
        },
    )
    chained = [*chains(list(topology.nodes.values()))]
    for number, group in enumerate(topology.groups):
        lines.append(f"  Group: {_name(group.name)} (Sub-topology: {number})")
        lines.extend(f"    {line}" for line in _group(group, edges, chained))
    lines.extend(f"  {_global(table, topology)}" for table in topology.globals)
    return "\n".join(lines) + "\n"


def _group(group: PartitionGroup, edges: _Edges, chained: Sequence[Chain]) -> Iterator[str]:
    children = group.children()
    for entry in group.entries:
        yield f"Repartition: {_name(entry.name)} (from group: {_name(edges.above[entry.name])})"
        yield _children(children[entry.name])
    executions = ExecutionPlanner(group)
    late = {chain.node: str(chain) for chain in chained}
    for node in group.nodes:
        yield _title(edges, node)
        execution = executions.summary(node) if isinstance(node, ProcessorNode) else None
        if execution is not None:
            yield f"  execution: {printable(execution)}"
        if node.name in late:
            yield f"  late: {late[node.name]}"
        if node.origin is not None:
            yield f"  defined at: {node.origin}"
        if not isinstance(node, (SinkNode, RepartitionNode, LoopEndNode)):
            yield _children(children[node.name])
        if node.parents:
            yield f"  <-- {_names(node.parents)}"
    for spec in group.stores:
        log = "" if spec.changelog is None else f", changelog: {_name(spec.changelog)}"
        yield f"Store: {_name(spec.name)} ({spec.kind.name}, {_serdes(spec.key, spec.value)}{log})"


def _children(nodes: Sequence[AnyNode]) -> str:
    return f"  --> {_names([node.name for node in nodes]) or 'none'}"


def _title(edges: _Edges, node: AnyNode) -> str:
    name = _name(node.name)
    match node:
        case SourceNode():
            return f"Source: {name} ({', '.join(_source(node))})"
        case JoinNode(ports=(left, right)):
            stores = _names([spec.name for spec in node.stores])
            sides = f"left: {_name(left)}, right: {_name(right)}"
            return f"Join: {name} ({sides}, stores: [{stores}]{_looked_up(node)})"
        case ProcessorNode():
            stores = _names([spec.name for spec in node.stores])
            batch = "batch, " if node.batch else ""
            at_most = limit_of(node.supplier)
            limit = "" if at_most is None else f"limit: {at_most}, "
            return f"Processor: {name} ({batch}{limit}stores: [{stores}]{_looked_up(node)})"
        case RepartitionNode():
            return f"Repartition: {name} ({', '.join(_edge(edges, node))})"
        case LoopNode():
            return f"Loop: {name} ({', '.join(_loop(edges, node))})"
        case LoopEndNode(loop=loop):
            below = _name(edges.below[loop.name])
            return f"Loop-end: {name} (to loop: {_name(loop.name)}, group: {below})"
        case SinkNode(target=target):
            return f"Sink: {name} ({_target(target)})"


def _looked_up(node: ProcessorNode) -> str:
    names = _names([spec.name for spec in node.globals])
    return f", global tables: [{names}]" if names else ""


def _global(table: GlobalDefinition, topology: Topology) -> str:
    store = table.store
    if table.app is None:
        place = f"of group: {_name(topology.group_of_store(store.name).name)}"
    else:
        place = f"of app: {_name(table.owner)}"
    about = f"store: {_name(store.name)}, {store.kind.name}, {_serdes(store.key, store.value)}"
    return f"Global table: {_name(table.name)} ({about}, {place})"


def _source(node: SourceNode) -> Iterator[str]:
    topic = node.topic
    if node.log is None:
        yield f"topic: {_name(topic.name)}"
    else:
        yield f"log: {_name(topic.name)}, {_name(node.log.label)}"
        if is_bounded(node.log):
            yield "bounded"
    yield _serdes(topic.key, topic.value)
    if topic.nulls != "drop":
        yield f"nulls: {topic.nulls}"
    if topic.null_keys != "drop":
        yield f"null keys: {topic.null_keys}"
    if node.start != "earliest":
        yield f"start: {node.start.isoformat() if isinstance(node.start, datetime) else node.start}"


def _edge(edges: _Edges, node: RepartitionNode) -> Iterator[str]:
    yield f"to group: {_name(edges.below[node.name])}"
    yield _serdes(node.key, node.value)
    if node.partitions is not None:
        yield f"partitions: {node.partitions}"
    if node.partitioner.name != "murmur2":
        yield f"partitioner: {_name(node.partitioner.name)}"


def _loop(edges: _Edges, node: LoopNode) -> Iterator[str]:
    yield f"from group: {_name(edges.above[node.name])}"
    yield _serdes(node.key, node.value)
    yield f"max hops: {node.max_hops}"
    if node.partitioner.name != "murmur2":
        yield f"partitioner: {_name(node.partitioner.name)}"


def _target(target: SinkTarget) -> str:
    match target:
        case Topic():
            return f"topic: {_name(target.name)}, {_serdes(target.key, target.value)}"
        case TopicChoice():
            return f"topic: {_name(target.label)}, {_serdes(target.key, target.value)}"
        case StdoutSink():
            return "stdout"
        case FunctionSink():
            return f"function: {_name(target.label)}"
        case _:
            return f"sink: {_name(target.label)}, {target.guarantee}"


def _serdes(key: Serde[Any], value: Serde[Any]) -> str:
    return f"key: {_name(key.name)}, value: {_name(value.name)}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(_name(name) for name in names)


def _name(name: str) -> str:
    """Return a name; quote and escape it if a reader could confuse it with the text around it."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name)
