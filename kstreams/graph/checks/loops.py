"""Checks of loops, and the hop counts of a topology with loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kstreams.graph.nodes import AnyNode, LoopEndNode, LoopNode, RepartitionNode
from kstreams.graph.topology import PartitionGroup, Topology

__all__ = ("loop_problems", "unfed_loops", "with_hops")


def loop_problems(nodes: Mapping[str, AnyNode]) -> Iterator[str]:
    """Yield a problem for each loop that no node writes to."""
    closed = {node.loop.name for node in nodes.values() if isinstance(node, LoopEndNode)}
    for node in nodes.values():
        if isinstance(node, LoopNode) and node.name not in closed:
            yield (
                f"loop {node.name!r} is not closed: pass the nodes that write to it "
                f"with close_loop({node.name}, ...)"
            )


def unfed_loops(groups: tuple[PartitionGroup, ...]) -> Iterator[str]:
    """Yield a problem for each loop without an upstream source: it would never have records."""
    for pipeline in Topology("", groups).pipelines():
        if not any(group.sources for group in pipeline):
            for loop in (loop for group in pipeline for loop in group.loops):
                yield (
                    f"no source leads to loop {loop.name!r}: it would never have "
                    "records; close it with nodes below a source"
                )


def with_hops(nodes: Mapping[str, AnyNode]) -> Mapping[str, AnyNode]:
    """Return the nodes; if there are loops, with repartition edges that transmit hop counts."""
    if not any(isinstance(node, LoopNode) for node in nodes.values()):
        return nodes
    return {
        name: replace(node, counts_hops=True) if isinstance(node, RepartitionNode) else node
        for name, node in nodes.items()
    }
