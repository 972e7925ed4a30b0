"""Find windows of windowed results, whose stream time may be ahead of these results.

A windowed aggregation forwards results with the times of their windows, after these have ended. So
a node with late records (further windows, a stream join, `deduplicate`) gets late results in two
cases:

- Both nodes run in one task. Stream time belongs to the task, and has passed the windows of
  the results, unless each update is forwarded at once.
- The results of several tasks meet below a repartition edge. Each task closes its windows by its
  own stream time. The results of the fastest task advance the stream time of the second node;
  results of slower tasks arrive later, with earlier times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kstreams.errors import LateResultsWarning
from kstreams.graph.inner_keys import partition_rule
from kstreams.graph.nodes import AnyNode, Entry, ProcessorNode, RepartitionNode
from kstreams.processors.emission import EachUpdate, Emission, OnClose
from kstreams.processors.kept_key import KeptKeySupplier
from kstreams.processors.window_emission import GraceSupplier, emission_of

__all__ = ("Chain", "chains", "late_result_warnings")


@dataclass(frozen=True)
class Chain:
    """A node with late records downstream of windowed results.

    Attributes:
        node: The node: further windows, a stream join or `deduplicate`.
        above: The aggregation or `suppress` whose results it gets.
        same_task: Whether both run in one task.
        grace_ms: The age (ms) of results at which they are late; the grace of windows.
        origin: The file and line that define the node; empty if they are not known.
    """

    node: str
    above: str
    same_task: bool
    grace_ms: int
    origin: str

    def __str__(self) -> str:
        """Return the effect on late results, as a line of `describe()`."""
        if self.same_task:
            return f"stream time is ahead of the results of {self.above!r}, which may be late"
        return f"results of slower partitions of {self.above!r} may be late"


@dataclass(frozen=True)
class _Way:
    """A way from a node upward: the next node, and the nodes on the way.

    Attributes:
        name: The next node.
        edges: The edges on the way.
        kept: Whether all nodes on the way keep the partition of the key.
    """

    name: str
    edges: tuple[str, ...] = ()
    kept: bool = True


def late_result_warnings(ordered: Sequence[AnyNode]) -> Iterator[LateResultsWarning]:
    """Yield a warning for each node whose results of windows are late by its definition.

    Windows with a grace below a repartition edge get no warning: their results are late only if a
    partition is further behind than the grace.

    Args:
        ordered: All nodes, parents first.
    """
    for chain in chains(ordered):
        if chain.same_task or chain.grace_ms == 0:
            yield LateResultsWarning(chain.node, chain.above, chain.same_task, chain.origin)


def chains(ordered: Sequence[AnyNode]) -> Iterator[Chain]:
    """Yield the nodes that get windowed results which may be late.

    Args:
        ordered: All nodes, parents first.
    """
    nodes = {node.name: node for node in ordered}
    for node in ordered:
        grace = _grace_ms(node)
        if grace is None:
            continue
        found: dict[str, bool] = {}
        for way, emission in _aggregations_above(nodes, node):
            if not way.edges and not isinstance(emission, EachUpdate):
                found[way.name] = True
            elif way.edges and isinstance(emission, OnClose) and _meet(nodes, way):
                found.setdefault(way.name, False)
        for above, same_task in found.items():
            yield Chain(node.name, above, same_task, grace, str(node.origin or ""))


def _grace_ms(node: AnyNode) -> int | None:
    """Return the grace (ms) of a node; None for a node without late records."""
    if not isinstance(node, ProcessorNode) or isinstance(node.supplier, type):
        return None
    supplier: object = node.supplier
    return supplier.grace_ms if isinstance(supplier, GraceSupplier) else None


def _aggregations_above(
    nodes: Mapping[str, AnyNode], node: AnyNode
) -> Iterator[tuple[_Way, Emission]]:
    """Yield the nearest nodes above a node that delay results, with the way and the emission."""
    pending = [_Way(parent) for parent in node.parents]
    known: set[_Way] = set()
    while pending:
        way = pending.pop()
        above = nodes.get(way.name)
        if way in known or above is None:
            continue
        known.add(way)
        edges, kept = way.edges, way.kept
        if isinstance(above, RepartitionNode):
            edges = (*edges, above.name)
        elif isinstance(above, ProcessorNode):
            emission = emission_of(above.supplier)
            if emission is not None:
                yield way, emission
                continue
            kept = kept and (above.keeps_key or _keeps_partition(above.supplier))
        pending += [_Way(parent, edges, kept) for parent in above.parents]


def _keeps_partition(supplier: object) -> bool:
    return isinstance(supplier, KeptKeySupplier) and supplier.keeps_partition


def _meet(nodes: Mapping[str, AnyNode], way: _Way) -> bool:
    """Return whether results of several partitions meet on a way through edges.

    They do not if each edge has the partitions of the records above the aggregation.
    """
    if not way.kept:
        return True
    rules = [partition_rule(entry) for entry in _entries(nodes, way.name)]
    edges = (nodes[name] for name in way.edges)
    return any(
        edge.partitions is not None or any(partition_rule(edge) != rule for rule in rules)
        for edge in edges
        if isinstance(edge, RepartitionNode)
    )


def _entries(nodes: Mapping[str, AnyNode], name: str) -> Iterator[Entry]:
    """Yield the sources, edges and loops above a node in its group."""
    pending, known = [name], set[str]()
    while pending:
        node = nodes[pending.pop()]
        if isinstance(node, Entry):
            yield node
        elif node.name not in known:
            known.add(node.name)
            pending += node.parents
