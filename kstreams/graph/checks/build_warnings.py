"""The warnings of a topology that can be built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstreams.graph.chained_windows import late_result_warnings
from kstreams.graph.checks.co_partitioning import framed_key_warnings
from kstreams.graph.checks.lost_changes import lost_change_warnings
from kstreams.graph.nodes import AnyNode

__all__ = ("build_warnings",)


def build_warnings(built: Sequence[AnyNode]) -> Iterator[str | Warning]:
    """Yield the warnings of a topology.

    Args:
        built: All nodes, parents first within each group; edges are in both of their groups.
    """
    yield from framed_key_warnings(built)
    yield from lost_change_warnings(built)
    yield from late_result_warnings(built)
