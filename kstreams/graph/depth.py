"""How many processors stand one below the other."""

from __future__ import annotations

from collections.abc import Iterable

from kstreams.graph.nodes import AnyNode, ProcessorNode

__all__ = ("MAX_DEPTH", "deepest")

MAX_DEPTH = 2_500
"""How many record processors of a group may stand one below the other.

Each forwards by calling the next one. CPython 3.12 and 3.13 let calls through C nest 10,000
deep whatever they are asked for, and a forward may well go through C three times.
"""


def deepest(nodes: Iterable[AnyNode]) -> tuple[int, str]:
    """Return how many nodes call each other for one record at most, and the last of them.

    A batch processor begins a chain of its own: what is forwarded to it waits for its turn.

    Args:
        nodes: Of one group, parents first.
    """
    depths: dict[str, int] = {}
    found = 0, ""
    for node in nodes:
        above = max((depths.get(parent, 0) for parent in node.parents), default=0)
        waits = isinstance(node, ProcessorNode) and node.batch
        depth = depths[node.name] = 1 if waits else above + 1
        if depth > found[0]:
            found = depth, node.name
    return found
