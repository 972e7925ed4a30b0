"""Run all checks of a topology: combine the problems into one error, and find the warnings."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kstreams.errors import TopologyError
from kstreams.graph.chained_windows import late_result_warnings
from kstreams.graph.checks.co_partitioning import (
    framed_key_warnings,
    serde_problems,
    shared_store_problems,
)
from kstreams.graph.checks.loops import loop_problems, unfed_loops, with_hops
from kstreams.graph.checks.lost_changes import lost_change_warnings
from kstreams.graph.checks.origins import with_origins
from kstreams.graph.checks.type_checks import type_problems
from kstreams.graph.checks.window_keys import result_keys, window_key_problems
from kstreams.graph.depth import MAX_DEPTH, deepest
from kstreams.graph.execution.planner import execution_problems
from kstreams.graph.global_tables import GlobalDefinition
from kstreams.graph.groups import partition_groups, topological_order
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
from kstreams.names import TOPIC_RULE, is_topic, name_problem, shown_name
from kstreams.serde.base import Serde
from kstreams.topic import Topic, TopicChoice

__all__ = ("build_warnings", "validated")


def validated(
    name: str,
    nodes: Mapping[str, AnyNode],
    problems: tuple[str, ...],
    idle_timeout_ms: int | None = None,
    settle_ms: int = 0,
    *,
    global_tables: tuple[GlobalDefinition, ...] = (),
) -> Topology:
    """Return the topology of the nodes; raises a `TopologyError` that lists all problems."""
    found = [*problems, *_parents(nodes), *loop_problems(nodes)]
    if not any(isinstance(node, SourceNode) for node in nodes.values()):
        found.append("there is no source: add one with add_source")
    if found:
        raise _error(name, found, nodes)
    ordered, cyclic = topological_order(with_hops(nodes))
    if cyclic:
        raise _error(name, [f"these nodes form a cycle: {', '.join(map(repr, cyclic))}"], nodes)
    found.extend([*_sources(ordered), *_stores(ordered), *_ends(ordered)])
    found.extend(_changelogs(ordered))
    found.extend(shared_store_problems(ordered))
    found.extend(_reads(ordered))
    keys = result_keys(ordered)
    found.extend(type_problems(ordered, keys))
    found.extend(window_key_problems(ordered, keys))
    found.extend(_keys(ordered))
    found.extend(serde_problems(ordered))
    groups = partition_groups(ordered, idle_timeout_ms, settle_ms) if not found else ()
    found.extend(_edges_back(groups))
    found.extend(unfed_loops(groups))
    found.extend(_depths(groups))
    found.extend(execution_problems(groups))
    if found:
        raise _error(name, found, nodes)
    return Topology(name, groups, global_tables)


def build_warnings(built: Sequence[AnyNode]) -> Iterator[str | Warning]:
    """Yield the warnings of a valid topology.

    Args:
        built: All nodes, parents first within each group.
    """
    yield from framed_key_warnings(built)
    yield from lost_change_warnings(built)
    yield from late_result_warnings(built)


def _error(name: str, problems: list[str], nodes: Mapping[str, AnyNode]) -> TopologyError:
    unique = tuple(sorted(with_origins(set(problems), nodes)))
    count = f"{len(unique)} problem{'s' if len(unique) > 1 else ''}"
    return TopologyError(f"topology {name!r} has {count}:", problems=unique)


def _parents(nodes: Mapping[str, AnyNode]) -> Iterator[str]:
    for node in nodes.values():
        for parent in node.parents:
            if parent not in nodes:
                near = difflib.get_close_matches(parent, nodes, 1)
                guess = f" (did you mean {near[0]!r}?)" if near else ""
                yield f"node {node.name!r}: unknown parent {parent!r}{guess}"
            elif isinstance(nodes[parent], SinkNode):
                yield f"node {node.name!r}: parent {parent!r} is a sink, which forwards nothing"


def _sources(ordered: list[AnyNode]) -> Iterator[str]:
    first: dict[str, str] = {}
    written = {
        node.target.name: node.name
        for node in ordered
        if isinstance(node, SinkNode) and isinstance(node.target, Topic)
    }
    for node in ordered:
        if not isinstance(node, SourceNode):
            continue
        if node.log is not None:
            yield from _log(node, written)
        other = first.setdefault(node.topic.name, node.name)
        if other != node.name:
            yield (
                f"sources {other!r} and {node.name!r} both read topic {node.topic.name!r}: add "
                f"one source, and give it the children of both"
            )
        start = node.start
        if not isinstance(start, str) and start.tzinfo is None:
            yield f"source {node.name!r}: start {start!r} has no time zone"
        yield from _serdes(node.name, node.topic.key, node.topic.value)


def _log(node: SourceNode, written: Mapping[str, str]) -> Iterator[str]:
    name = node.topic.name
    if not is_topic(name):
        yield f"source {node.name!r}: {shown_name(name)} cannot name a log: use {TOPIC_RULE}"
    if name in written:
        yield (
            f"source {node.name!r} reads a log named {name!r}, and sink {written[name]!r} writes "
            f"a topic of this name: rename one of them"
        )


def _serdes(name: str, key: object, value: object) -> Iterator[str]:
    for part, serde in (("key", key), ("value", value)):
        if not isinstance(serde, Serde):
            yield f"node {name!r}: expected a serde for the {part}, got {serde!r}"


def _stores(ordered: list[AnyNode]) -> Iterator[str]:
    seen: dict[str, tuple[Any, str]] = {}
    for node in ordered:
        if not isinstance(node, ProcessorNode):
            continue
        for spec in node.stores:
            other, user = seen.setdefault(spec.name, (spec, node.name))
            if other != spec:
                yield (
                    f"two different stores are named {spec.name!r} "
                    f"(nodes {user!r} and {node.name!r}): give each its own name"
                )
            if problem := _store_name_problem(spec.name):
                yield f"node {node.name!r}: {shown_name(spec.name)} cannot name a store: {problem}"


def _store_name_problem(name: str) -> str:
    return name_problem(name) or ("it begins with '__'" if name.startswith("__") else "")


def _changelogs(ordered: list[AnyNode]) -> Iterator[str]:
    """Yield a problem for each changelog whose topic or store is unsuitable.

    The topic's name is invalid or is already used by a source, a sink or another store, or the
    store does not support a changelog.
    """
    users: dict[str, str] = {}
    for node in ordered:
        topic = node.topic if isinstance(node, SourceNode) else getattr(node, "target", None)
        if isinstance(topic, Topic):
            users.setdefault(topic.name, f"node {node.name!r}")
    nodes = [node for node in ordered if isinstance(node, ProcessorNode)]
    for spec in {spec.name: spec for node in nodes for spec in node.stores}.values():
        if spec.changelog is None:
            continue
        user = users.setdefault(spec.changelog, f"store {spec.name!r}")
        if user != f"store {spec.name!r}":
            yield (
                f"store {spec.name!r} has the changelog {spec.changelog!r}, a topic of {user}: "
                f"give the changelog its own topic"
            )
        if not is_topic(spec.changelog):
            yield (
                f"store {spec.name!r}: {shown_name(spec.changelog)} cannot name its changelog "
                f"topic: use {TOPIC_RULE}"
            )
        try:
            spec.changelog_form()
        except TopologyError as exc:
            yield f"{exc.message}: {exc.hint}"


def _reads(ordered: list[AnyNode]) -> Iterator[str]:
    """Yield a problem for each store that a node reads and that no table of the topology has."""
    nodes = [node for node in ordered if isinstance(node, ProcessorNode)]
    kept = {spec for node in nodes for spec in node.stores}
    for node in nodes:
        for spec in node.reads:
            if spec not in kept:
                yield (
                    f"node {node.name!r} reads store {spec.name!r}, but no table of this "
                    f"topology has this store: add one with add_table(..., store=...) or "
                    f"add_global_table"
                )


def _ends(ordered: list[AnyNode]) -> Iterator[str]:
    parents = {parent for node in ordered for parent in node.parents}
    for node in ordered:
        if isinstance(node, (SourceNode, RepartitionNode, LoopNode)) and node.name not in parents:
            yield f"nothing reads from {node.name!r}"
        if isinstance(node, (RepartitionNode, LoopNode)):
            yield from _serdes(node.name, node.key, node.value)
        if isinstance(node, SinkNode) and isinstance(node.target, (Topic, TopicChoice)):
            yield from _serdes(node.name, node.target.key, node.target.value)


def _keys(ordered: list[AnyNode]) -> Iterator[str]:
    """Yield a problem for each stateful node below a key change without a repartition."""
    changed: dict[str, str | None] = {}
    for node in ordered:
        above = next((changed[p] for p in node.parents if changed.get(p)), None)
        match node:
            case SourceNode() | RepartitionNode() | LoopNode():
                changed[node.name] = None
            case ProcessorNode():
                meets = _by_key(node)
                if meets and above is not None:
                    yield (
                        f"node {node.name!r} {meets}, but {above!r} above it may change "
                        "the key: put builder.repartition(...) between them, or derive "
                        f"{above!r} from FixedKeyProcessor if it keeps the key"
                    )
                changed[node.name] = above if node.keeps_key else node.name
            case SinkNode() | LoopEndNode():
                pass


def _by_key(node: ProcessorNode) -> str:
    """Return why a node needs all records of a key in one task; empty if it does not."""
    if isinstance(node, JoinNode):
        return "is a join"
    if node.makes_table:
        return "makes a table"
    if node.stores:
        return "has a store"
    return "reads a table" if node.reads else ""


def _depths(groups: tuple[PartitionGroup, ...]) -> Iterator[str]:
    """Yield a problem for each group whose longest chain of processors exceeds `MAX_DEPTH`."""
    for group in groups:
        depth, last = deepest(group.nodes)
        if depth > MAX_DEPTH:
            yield (
                f"group {group.name!r} has a chain of {depth:,} nodes, down to {last!r}; the "
                f"maximum is {MAX_DEPTH:,}: put builder.repartition(...) between the nodes, or "
                "merge several processors into one"
            )


def _edges_back(groups: tuple[PartitionGroup, ...]) -> Iterator[str]:
    """Yield a problem for each group whose repartition edges lead back into the group."""
    target = {entry.name: group.name for group in groups for entry in group.entries}
    below = {group.name: {target[edge.name] for edge in group.exits} for group in groups}
    for group in groups:
        back = [edge for edge in group.exits if group.name in _reached(target[edge.name], below)]
        if back:
            share = "nodes on both sides share a store; give each side its own store"
            names = ", ".join(repr(edge.name) for edge in back)
            yield (
                f"a repartition edge ({names}) leads back into its own group {group.name!r}: "
                f"{next((edge.way_out for edge in back if edge.way_out), share)}"
            )


def _reached(start: str, below: Mapping[str, set[str]]) -> set[str]:
    """Return the names of a group and of all groups that it reaches over repartition edges."""
    reached, frontier = {start}, {start}
    while frontier:
        frontier = {after for name in frontier for after in below[name]} - reached
        reached |= frontier
    return reached
