"""The content of a picture of a topology, independent of the output language."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from kstreams.graph.nodes import (
    AnyNode,
    LoopEndNode,
    LoopNode,
    RepartitionNode,
    SinkNode,
    SourceNode,
)
from kstreams.topic import Topic, TopicChoice

if TYPE_CHECKING:
    from kstreams.graph.topology import PartitionGroup, Topology

__all__ = ("Arrow", "Box", "Drawing", "Shape", "draw", "printable")


class Shape(Enum):
    """The kind of the object that a box represents; output languages draw a shape for each."""

    SOURCE = "source"
    PROCESSOR = "processor"
    REPARTITION = "repartition"
    LOOP = "loop"
    SINK = "sink"
    STORE = "store"
    TOPIC = "topic"
    OUTSIDE = "outside"
    """The external destination of a sink, such as standard output or a function."""


@dataclass(frozen=True)
class Box:
    """A box of a picture; `id` is a valid identifier in every output language."""

    id: str
    shape: Shape
    label: str


@dataclass(frozen=True)
class Arrow:
    """A line between two boxes; a line to a store that a node uses has no direction."""

    start: str
    end: str
    directed: bool


@dataclass(frozen=True)
class Drawing:
    """The boxes of each group, the boxes outside groups, and the arrows, in a fixed order."""

    title: str
    groups: tuple[tuple[str, tuple[Box, ...]], ...]
    outside: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def draw(topology: Topology) -> Drawing:
    """Create the drawing of a topology; equal topologies give equal drawings."""
    ids = {name: f"n{number}" for number, name in enumerate(topology.nodes)}
    topics = {name: f"t{number}" for number, name in enumerate(_topics(topology))}
    stores = {spec.name: f"s{number}" for number, spec in enumerate(topology.stores)}
    groups = tuple((group.name, tuple(_boxes(group, ids, stores))) for group in topology.groups)
    logs = {node.topic.name: node.log for node in topology.sources if node.log is not None}
    outside = [
        Box(id_, Shape.OUTSIDE, f"{name}: {logs[name].label}")
        if name in logs
        else Box(id_, Shape.TOPIC, name)
        for name, id_ in topics.items()
    ]
    shared = {table.store.name: table for table in topology.globals if table.app is not None}
    others = {name: f"a{number}" for number, name in enumerate(shared)}
    before: list[Arrow] = []
    inner: list[Arrow] = []
    after: list[Arrow] = []
    for node in topology.nodes.values():
        if isinstance(node, SourceNode):
            before.append(Arrow(topics[node.topic.name], ids[node.name], directed=True))
        inner.extend(Arrow(ids[parent], ids[node.name], directed=True) for parent in node.parents)
        if isinstance(node, LoopEndNode):
            inner.append(Arrow(ids[node.name], ids[node.loop.name], directed=True))
        if isinstance(node, SinkNode):
            if isinstance(node.target, Topic):
                end = topics[node.target.name]
            else:
                end = f"x{len(outside) - len(topics)}"
                outside.append(Box(end, _outside(node), node.target.label))
            after.append(Arrow(ids[node.name], end, directed=True))
    links = [
        Arrow(ids[node.name], stores[spec.name], directed=False)
        for group in topology.groups
        for node in group.processors
        for spec in node.stores
    ]
    looks = [
        Arrow(tables[spec.name], ids[node.name], directed=True)
        for tables in [{**stores, **others}]
        for group in topology.groups
        for node in group.processors
        for spec in node.globals
    ]
    changelogs = [
        Arrow(stores[spec.name], topics[spec.changelog], directed=True)
        for spec in topology.stores
        if spec.changelog is not None
    ]
    outside.extend(
        Box(id_, Shape.STORE, f"{name}, of app {shared[name].owner}")
        for name, id_ in others.items()
    )
    arrows = (*before, *inner, *links, *looks, *after, *changelogs)
    return Drawing(topology.name, groups, tuple(outside), arrows)


def printable(text: str) -> str:
    """Replace invisible characters of a text, such as line breaks, by Python escapes."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def _topics(topology: Topology) -> dict[str, None]:
    read = [node.topic.name for node in topology.sources]
    written = [node.target.name for node in topology.sinks if isinstance(node.target, Topic)]
    logs = [spec.changelog for spec in topology.stores if spec.changelog is not None]
    return dict.fromkeys([*read, *written, *logs])


def _boxes(group: PartitionGroup, ids: dict[str, str], stores: dict[str, str]) -> Iterator[Box]:
    for node in group.nodes:
        yield Box(ids[node.name], _shape(node), node.name)
    for spec in group.stores:
        yield Box(stores[spec.name], Shape.STORE, spec.name)


def _shape(node: AnyNode) -> Shape:
    match node:
        case SourceNode():
            return Shape.SOURCE
        case RepartitionNode():
            return Shape.REPARTITION
        case LoopNode() | LoopEndNode():
            return Shape.LOOP
        case SinkNode():
            return Shape.SINK
        case _:
            return Shape.PROCESSOR


def _outside(node: SinkNode) -> Shape:
    return Shape.TOPIC if isinstance(node.target, TopicChoice) else Shape.OUTSIDE
