"""Which execution each node gets: by records or by columns, and why.

A node runs by columns where its results are the same then, record for record. That takes a
node directly below sources or repartition edges, alone with its stores, and above nodes
that get records from nowhere else: others would be seen before or after its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from kstreams.errors import TopologyError
from kstreams.graph.nodes import AnyNode, Entry, ProcessorNode, SourceNode, serdes_of
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.columns import ColumnProcessor, ColumnSource, ColumnSupplier

__all__ = ("ExecutionPlanner", "execution_problems")

_HINT = "leave execution='auto', which runs it by records then."


class ExecutionPlanner:
    """Chooses the execution of a group's nodes.

    The topology decides, but for two things that only a run knows: whether a node has a
    stream-time punctuator, and whether an interceptor cannot be around column processors.

    Args:
        group: The nodes.
        intercepted: Whether there is such an interceptor.
    """

    def __init__(self, group: PartitionGroup, *, intercepted: bool = False) -> None:
        self._entries = {entry.name: entry for entry in group.inputs}
        self._followers = group.followers
        self._intercepted = intercepted
        self._children = group.children()
        self._places = {node.name: place for place, node in enumerate(group.nodes)}
        self._last = max((self._places[node.name] for node in group.processors), default=-1)
        self._users: dict[str, list[str]] = {}
        for node in group.processors:
            for spec in (*node.stores, *node.reads):
                self._users.setdefault(spec.name, []).append(node.name)

    def column_processor(self, node: ProcessorNode, *, punctuated: bool) -> ColumnProcessor | None:
        """Return a new column processor for a node; None runs it by records.

        Args:
            node: The node.
            punctuated: Whether a node after it has a stream-time punctuator.

        Raises:
            TopologyError: The node asks for columns, and cannot have them; says why.
        """
        supplier = _column_supplier(node)
        if supplier is None or supplier.execution == "records":
            return None
        found = self._found(node, supplier, punctuated=punctuated)
        if not isinstance(found, str):
            return found
        if supplier.execution == "columns":
            raise TopologyError(_refusal(node, found), hint=_HINT)
        return None

    def problem(self, node: ProcessorNode) -> str | None:
        """Return why a node that asks for columns cannot have them, as far as that is known."""
        supplier = _column_supplier(node)
        if supplier is None or supplier.execution != "columns":
            return None
        found = self._found(node, supplier, punctuated=False)
        return f"{_refusal(node, found)}: {_HINT}" if isinstance(found, str) else None

    def summary(self, node: ProcessorNode) -> str | None:
        """Return a node's execution and the reason; None for nodes that have no other.

        What only a run knows is said as a condition.
        """
        supplier = _column_supplier(node)
        if supplier is None:
            return None
        if supplier.execution == "records":
            return "records (asked for)"
        found = self._found(node, supplier, punctuated=False)
        if isinstance(found, str):
            return f"records ({found})"
        if self._places[node.name] < self._last:
            found = self._found(node, supplier, punctuated=True)
        if isinstance(found, str):
            return "columns (records if a node after it has a stream-time punctuator)"
        return "columns"

    def _found(
        self, node: ProcessorNode, supplier: ColumnSupplier, *, punctuated: bool
    ) -> ColumnProcessor | str:
        obstacle = self._obstacle(node)
        if obstacle is not None:
            return obstacle
        entries = [self._entries[parent] for parent in node.parents]
        key, value = serdes_of(entries[0])
        nulls = any(not isinstance(e, SourceNode) or e.topic.nulls == "pass" for e in entries)
        return supplier.column_processor(ColumnSource(key, value, nulls, punctuated))

    def _obstacle(self, node: ProcessorNode) -> str | None:
        """Return why a node cannot run by columns, whatever it does."""
        if self._intercepted:
            return "an interceptor has no bind_columns"
        above = [parent for parent in node.parents if parent not in self._entries]
        if above:
            return f"it is below processor {above[0]!r}, rather than directly below a source"
        loops = [parent for parent in node.parents if parent in self._followers]
        if loops:
            return f"records of loop {loops[0]!r} do not move stream time"
        entries = [self._entries[parent] for parent in node.parents]
        if len({serdes_of(entry) for entry in entries}) > 1:
            return f"its sources {_listed(entries)} have different serdes"
        lenient = [entry for entry in self._entries.values() if entry.on_error != "fail"]
        if lenient:
            return f"{lenient[0].name!r} goes on after records that fail (on_error)"
        users = {user for spec in node.stores for user in self._users[spec.name]} - {node.name}
        if users:
            return f"node {min(users, key=self._places.__getitem__)!r} uses its store too"
        return self._mixed(node)

    def _mixed(self, node: ProcessorNode) -> str | None:
        below = self._below(node)
        known = {node.name, *(other.name for other in below)}
        for other in below:
            if not known.issuperset(other.parents):
                return f"node {other.name!r} below it gets records from elsewhere too"
        return None

    def _below(self, node: ProcessorNode) -> list[AnyNode]:
        """Return the nodes that a node's records may reach, in the group's order."""
        found: dict[str, AnyNode] = {}
        waiting = list(self._children[node.name])
        while waiting:
            other = waiting.pop()
            if other.name not in found:
                found[other.name] = other
                waiting.extend(self._children[other.name])
        return sorted(found.values(), key=lambda other: self._places[other.name])


def execution_problems(groups: tuple[PartitionGroup, ...]) -> Iterator[str]:
    """Yield what is wrong with nodes that ask for columns and cannot have them."""
    for group in groups:
        planner = ExecutionPlanner(group)
        for node in group.processors:
            problem = planner.problem(node)
            if problem is not None:
                yield problem


def _column_supplier(node: ProcessorNode) -> ColumnSupplier | None:
    supplier: object = node.supplier
    if isinstance(supplier, type) or not isinstance(supplier, ColumnSupplier):
        return None
    return supplier


def _refusal(node: ProcessorNode, reason: str) -> str:
    return f"node {node.name!r} cannot run by columns: {reason}"


def _listed(entries: list[Entry]) -> str:
    return " and ".join(repr(entry.name) for entry in entries)
