"""Check that a replay calls no external service and no function of a sink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kstreams.errors import ReplayError
from kstreams.graph.nodes import AnyNode, FunctionSink, ProcessorNode, SinkNode
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.peek import without_peek

__all__ = ("check_outside_calls", "quiet_group")


def check_outside_calls(groups: Iterable[PartitionGroup]) -> None:
    """Check that a replay of groups calls no external service and no function of a sink.

    Only calls that processors declare with `calls_outside` are known.

    Raises:
        ReplayError: A node declares external calls; the error names the nodes.
    """
    found = [name for group in groups for name in _calling(group)]
    if found:
        raise ReplayError(
            f"running the batch again would repeat its external calls: {', '.join(found)}",
            hint="--repeat-calls allows the calls; a system that replies differently changes "
            "results.",
        )


def _calling(group: PartitionGroup) -> Iterator[str]:
    for node in group.nodes:
        if isinstance(node, SinkNode) and isinstance(node.target, FunctionSink):
            yield f"sink {node.name!r} calls a function"
        elif isinstance(node, ProcessorNode) and getattr(node.supplier(), "calls_outside", False):
            yield f"node {node.name!r} calls an external service"


def quiet_group(group: PartitionGroup) -> PartitionGroup:
    """Return a group in which `peek` nodes do not call their functions."""
    return replace(group, nodes=tuple(map(_quiet, group.nodes)))


def _quiet(node: AnyNode) -> AnyNode:
    if not isinstance(node, ProcessorNode):
        return node
    supplier = without_peek(node.supplier)
    return node if supplier is None else replace(node, supplier=supplier)
