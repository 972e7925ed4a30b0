"""The tables of a group: their rows, and the nodes that read them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from kstreams.graph.execution.neighbors import Neighbors
from kstreams.graph.execution.reasons import table_read
from kstreams.graph.nodes import ProcessorNode
from kstreams.processors.column_form import NodeForm, Reason
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Tables",)


class Tables:
    """The tables of a group; each table is identified by the node that stores its rows.

    Args:
        nodes: The processor nodes of the group, by name.
        forms: The column form of each node that has one.
        neighbors: The nodes around each node.
    """

    def __init__(
        self,
        nodes: Mapping[str, ProcessorNode],
        forms: Mapping[str, NodeForm],
        neighbors: Neighbors,
    ) -> None:
        self._nodes = nodes
        self._forms = forms
        self._neighbors = neighbors

    def above(self, port: str) -> ProcessorNode | None:
        """Return the node that stores the rows of a table; None if another group has the table.

        Args:
            port: The table's node, or the node of a table that is derived from it without a store.
        """
        node = self._nodes.get(port)
        while node is not None and not node.stores and len(node.parents) == 1:
            node = self._nodes.get(node.parents[0])
        return node

    def stores_above(self, port: str) -> tuple[StoreSpec[Any], ...]:
        """Return the stores of the table that `above` finds for a node; empty if it finds none."""
        table = self.above(port)
        return () if table is None else table.stores

    def is_looked_up(self, table: ProcessorNode) -> bool:
        """Return True if a join looks up rows of the table, or if the table has no readers."""
        readers = self.readers(table)
        return not readers or any(self.looks_up(reader) for reader in readers)

    def looks_up(self, name: str) -> bool:
        """Return whether a node looks up rows of a table without receiving the table's changes."""
        form = self._forms.get(name)
        return form is not None and form.looks_up

    def readers(self, table: ProcessorNode) -> set[str]:
        """Return the nodes that read a table's store or receive its changes.

        A table that is derived from it without a store does not count as a reader, but the nodes
        that read the derived table do.
        """
        found = {user for spec in table.stores for user in self._neighbors.users[spec.name]}
        waiting = list(self._neighbors.children[table.name])
        while waiting:
            child = waiting.pop()
            form = self._forms.get(child.name)
            if form is not None and form.is_view:
                waiting.extend(self._neighbors.children[child.name])
            else:
                found.add(child.name)
        return found - {table.name}

    def changes_reason(self, table: ProcessorNode, joins: Collection[str]) -> Reason | None:
        """Return why a table cannot forward changes by columns because of its neighbors, or None.

        Any reader of the table's store is a reason, except the columnar joins in `joins`: they read
        the store only after all rows of the batch are written, or read rows that do not change.

        Args:
            table: The node that stores the table's rows.
            joins: Names of the joins of table changes that run by columns.
        """
        own = {name for name in joins if self._joins(name, table)}
        users = {user for spec in table.stores for user in self._neighbors.users[spec.name]}
        others = users - own - {table.name}
        if others:
            return table_read(self._neighbors.first(others))
        return self._neighbors.mixed(table, but_for=own)

    def _joins(self, name: str, table: ProcessorNode) -> bool:
        """Return whether a join receives the changes of a table."""
        return any(self.above(port) is table for port in self._nodes[name].parents)
