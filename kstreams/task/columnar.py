"""Decide which nodes of a task run on whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kstreams.errors import TopologyError
from kstreams.graph.nodes import AnyNode, ProcessorNode, SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.columnar import ColumnarProcessor, ColumnSource
from kstreams.processors.interceptor import Interceptor
from kstreams.task.decoding import Entry, serdes_of

__all__ = ("Columnar",)


class Columnar:
    """Finds columnar forms of a group's nodes.

    A node runs on columns if its results are the same then, record for record. So it must
    be alone with its stores, and what is below it must get records from nowhere else:
    others would be seen before or after them.
    """

    def __init__(self, group: PartitionGroup, interceptors: Sequence[Interceptor]) -> None:
        entries: tuple[Entry, ...] = (*group.sources, *group.entries)
        self._entries = {entry.name: entry for entry in entries}
        self._children = group.children()
        self._places = {node.name: place for place, node in enumerate(group.nodes)}
        self._users: dict[str, list[str]] = {}
        for node in group.processors:
            for spec in node.stores:
                self._users.setdefault(spec.name, []).append(node.name)
        self._intercepted = not all(hasattr(each, "bind_columns") for each in interceptors)

    def form_of(self, node: ProcessorNode, *, punctuated: bool) -> ColumnarProcessor | None:
        """Return a new columnar processor for a node; None runs it record by record.

        Args:
            node: The node.
            punctuated: Whether a node below has a stream-time punctuator.

        Raises:
            TopologyError: The node asks to run on columns, and cannot; says why.
        """
        supplier: Any = node.supplier
        path = getattr(supplier, "path", "record")
        if path == "record" or not hasattr(supplier, "columnar"):
            return None
        found = self._obstacle(node) or supplier.columnar(self._source(node, punctuated))
        if not isinstance(found, str):
            form: ColumnarProcessor = found
            return form
        if path == "vector":
            raise TopologyError(
                f"node {node.name!r} cannot run on columns: {found}",
                hint="leave path='auto', which runs it record by record then",
            )
        return None

    def _source(self, node: ProcessorNode, punctuated: bool) -> ColumnSource:
        entries = [self._entries[parent] for parent in node.parents]
        key, value = serdes_of(entries[0])
        nulls = any(not isinstance(e, SourceNode) or e.topic.nulls == "pass" for e in entries)
        return ColumnSource(key, value, nulls, punctuated)

    def _obstacle(self, node: ProcessorNode) -> str | None:
        """Return why a node cannot run on columns, whatever it does."""
        if self._intercepted:
            return "an interceptor has no bind_columns"
        if not all(parent in self._entries for parent in node.parents):
            return "there is a processor above it"
        entries = [self._entries[parent] for parent in node.parents]
        if len({serdes_of(entry) for entry in entries}) > 1:
            return "its sources have different serdes"
        if any(entry.on_error != "fail" for entry in self._entries.values()):
            return "a source skips records that fail"
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
