"""Add the origins of nodes to the problems of a topology."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kstreams.graph.nodes import AnyNode
from kstreams.names import shown_name

__all__ = ("with_origins",)


def with_origins(problems: Iterable[str], nodes: Mapping[str, AnyNode]) -> Iterator[str]:
    """Yield each problem, followed by the origins of the nodes that it quotes.

    Problems quote names of nodes. A quoted store or topic with the name of a node adds the origin
    of this node, too.

    Args:
        problems: The problems.
        nodes: The nodes by name; those without an origin add nothing.
    """
    known = {
        quoted: f"{quoted} at {node.origin}"
        for node in nodes.values()
        if node.origin is not None
        for quoted in {repr(node.name), shown_name(node.name)}
    }
    for problem in problems:
        found = sorted(
            (problem.index(quoted), known[quoted]) for quoted in known if quoted in problem
        )
        yield f"{problem} [{', '.join(text for _, text in found)}]" if found else problem
