"""The longest chain of record processors in a group."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kstreams.graph.nodes import AnyNode, ProcessorNode

__all__ = ("MAX_DEPTH", "deepest")

MAX_DEPTH = 375 if (3, 12) <= sys.version_info < (3, 12, 2) else 2_500
"""Maximum number of record processors in one chain of a group.

Each processor forwards a record by calling the next processor. CPython 3.12 and 3.13 allow 10,000
nested calls through C, regardless of the recursion limit, and one forward may need three such
calls. CPython 3.12.0 and 3.12.1 allow 1,500.
"""


def deepest(nodes: Iterable[AnyNode]) -> tuple[int, str]:
    """Return the length of the longest chain of `process` calls, and the chain's last node.

    A batch processor starts a new chain: records forwarded to it are buffered.

    Args:
        nodes: The nodes of one group, parents first.
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
