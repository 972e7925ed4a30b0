"""How the emission of windowed aggregations affects downstream nodes and apps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from kstreams.errors import CompileError
from kstreams.graph.nodes import AnyNode, NodeHandle, ProcessorNode
from kstreams.graph.topology import Topology
from kstreams.processors.emission import Emission
from kstreams.processors.window_emission import (
    BelowWindowsSupplier,
    EndOfRunSupplier,
    WindowEmissionSupplier,
)

__all__ = ("check_run_closes_windows", "placed_below")

P = TypeVar("P")
"""Type of the processors."""


def placed_below(
    supplier: Callable[[], P], nodes: Mapping[str, AnyNode], parents: Sequence[NodeHandle]
) -> Callable[[], P]:
    """Return the supplier of a new node, adapted to the emissions of upstream aggregations.

    Args:
        supplier: The argument of `add_processor`.
        nodes: The builder's nodes.
        parents: The parents of the new node.
    """
    given: object = supplier
    if isinstance(given, type) or not isinstance(given, BelowWindowsSupplier):
        return supplier
    return given.below_windows(_emissions_above(nodes, _names(parents)))


def check_run_closes_windows(topology: Topology, hint: str) -> None:
    """Check that no node needs closed windows to emit results, for an app that never closes them.

    Args:
        topology: The topology of the app.
        hint: The hint of the error.

    Raises:
        CompileError: A node forwards results only when a run ends and closes windows.
    """
    for node in topology.nodes.values():
        if isinstance(node, ProcessorNode) and _needs_end_of_run(node.supplier):
            raise CompileError(
                f"node {node.name!r} forwards no results in this run: its windows never close, or "
                "its time limit is `forever`, so it forwards results only when a run ends and "
                "closes windows",
                hint=hint,
            )


def _needs_end_of_run(supplier: object) -> bool:
    if isinstance(supplier, type) or not isinstance(supplier, EndOfRunSupplier):
        return False
    return supplier.needs_end_of_run


def _names(parents: Sequence[object]) -> list[str]:
    """Return the names of parents; skip objects without a name, which `add_processor` rejects."""
    return [parent.name for parent in parents if isinstance(parent, NodeHandle)]


def _emissions_above(nodes: Mapping[str, AnyNode], names: Sequence[str]) -> dict[str, Emission]:
    """Return, by node, the emissions of the nearest upstream windowed aggregations in the group."""
    found: dict[str, Emission] = {}
    known: set[str] = set()
    pending = list(names)
    while pending:
        name = pending.pop()
        node = nodes.get(name)
        if name in known or not isinstance(node, ProcessorNode):
            continue
        known.add(name)
        supplier: object = node.supplier
        if isinstance(supplier, WindowEmissionSupplier) and not isinstance(supplier, type):
            found[name] = supplier.window_emission
        else:
            pending.extend(node.parents)
    return found
