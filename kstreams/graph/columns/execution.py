"""The choice of execution for each node, by records or by columns, with the reason.

A node runs by columns if its results are then the same, record for record. For this the node is
directly below sources or repartition edges, does not share its stores, and the nodes below it
receive records from no other node, which could come before or after its own. A table and
the joins that read it run by columns together, or not at all. Stateless operators, and
joins with global tables, follow a join that runs by columns; operators also follow such an
aggregation if only edges and topics are below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kstreams.errors import TopologyError
from kstreams.graph.columns.column_blockers import Surroundings, waits_for_end
from kstreams.graph.columns.shared_ancestors import joins_behind
from kstreams.graph.nodes import JoinNode, ProcessorNode
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.chained import ChainSupplier
from kstreams.processors.columns import (
    ChainedSupplier,
    ColumnAnswerSupplier,
    ColumnChangesSupplier,
    ColumnJoinSupplier,
    ColumnLookupSupplier,
    ColumnProcessor,
    ColumnSupplier,
    ColumnTableJoinSupplier,
    ColumnTableSupplier,
    Execution,
    TableViewSupplier,
)
from kstreams.processors.entered import Entered
from kstreams.processors.limit import limit_of
from kstreams.state.stores.spec import StoreSpec

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
        self._around = Surroundings(group, intercepted=intercepted)
        self._nodes = {node.name: node for node in group.processors}
        self._last = max((self._around.places[name] for name in self._nodes), default=-1)
        self._made: dict[tuple[str, bool], ColumnProcessor | str] = {}
        self._together = {node.name for node in group.processors if _joins_changes(node)}
        self._apart: dict[str, str] = {}
        if self._together:
            self._choose_joins_of_changes(group)

    def _choose_joins_of_changes(self, group: PartitionGroup) -> None:
        """Find which joins that take changes of tables run by columns, and why others do not.

        A table runs by columns if all joins that take its changes do, and they do if their
        tables do: so all are thought to, until one is found that cannot.
        """
        obstacles = {
            name: "a record may reach both of its inputs"
            for behind in joins_behind(group).values()
            for name in behind
        }
        while True:
            self._apart.update(obstacles)
            self._together.difference_update(obstacles)
            self._made.clear()
            found = {
                name: self._found(self._nodes[name], punctuated=False)
                for name in sorted(self._together)
            }
            obstacles = {name: why for name, why in found.items() if isinstance(why, str)}
            if not obstacles:
                return

    def column_processor(self, node: ProcessorNode, *, punctuated: bool) -> ColumnProcessor | None:
        """Return a new column processor for a node; None runs it by records.

        Args:
            node: The node.
            punctuated: Whether a node after it has a stream-time punctuator.

        Raises:
            TopologyError: The node asks for columns, and cannot have them; says why.
        """
        asked = _asked(node)
        if asked == "records":
            return None
        found = self._found(node, punctuated=punctuated)
        if isinstance(found, ColumnProcessor):
            return found
        if asked == "columns":
            raise TopologyError(_refusal(node, found), hint=_HINT)
        return None

    def problem(self, node: ProcessorNode) -> str | None:
        """Return why a node that asks for columns cannot have them, as far as that is known."""
        if _asked(node) != "columns":
            return None
        found = self._found(node, punctuated=False)
        return None if isinstance(found, ColumnProcessor) else f"{_refusal(node, found)}: {_HINT}"

    def summary(self, node: ProcessorNode) -> str | None:
        """Return a node's execution and the reason; None for nodes that have no other.

        What only a run knows is said as a condition.
        """
        asked = _asked(node)
        if asked == "records":
            return "records (asked for)"
        found = self._found(node, punctuated=False)
        if not isinstance(found, ColumnProcessor):
            return f"records ({found})" if found else None
        if self._around.places[node.name] < self._last:
            found = self._found(node, punctuated=True)
        if not isinstance(found, ColumnProcessor):
            return "columns (records if a node after it has a stream-time punctuator)"
        return "columns"

    def _found(self, node: ProcessorNode, *, punctuated: bool) -> ColumnProcessor | str:
        """Return a column processor, or why there is none; empty where there never is one.

        The same processor at each call.
        """
        place = node.name, punctuated
        if place not in self._made:
            self._made[place] = self._make(node, punctuated=punctuated)
        return self._made[place]

    def _make(self, node: ProcessorNode, *, punctuated: bool) -> ColumnProcessor | str:
        supplier: object = node.supplier
        if isinstance(supplier, type):
            return ""
        if isinstance(supplier, ChainedSupplier) and self._follows(node.parents):
            return supplier.chained()
        if isinstance(supplier, ChainSupplier) and self._takes_results(node):
            return supplier.in_pieces()
        if isinstance(supplier, ChainedSupplier) and self._enters(node):
            found = supplier.chained()
            source = self._around.source(node.parents)
            return found if isinstance(found, str) else Entered(found, source)
        if isinstance(supplier, ColumnTableSupplier) and self._is_looked_up(node):
            return self._table_obstacle(node) or supplier.column_table(
                self._around.source(node.parents)
            )
        if isinstance(supplier, ColumnChangesSupplier):
            below = self._ends_batch(node.parents) or self._follows(node.parents)
            return self._changes_obstacle(node) or supplier.column_changes(
                None if below else self._around.source(node.parents)
            )
        if isinstance(supplier, ColumnAnswerSupplier) and isinstance(node, JoinNode):
            return self._answer(node, supplier)
        if isinstance(supplier, ColumnTableJoinSupplier) and isinstance(node, JoinNode):
            return self._table_join(node, supplier)
        if isinstance(supplier, ColumnLookupSupplier) and isinstance(node, JoinNode):
            return self._lookup(node, supplier)
        if isinstance(supplier, ColumnJoinSupplier) and isinstance(node, JoinNode):
            left, right = ([port] for port in node.ports)
            return self._obstacle(node, left, right) or supplier.column_join(
                self._around.source(left, punctuated=punctuated),
                self._around.source(right, punctuated=punctuated),
            )
        if isinstance(supplier, ColumnSupplier):
            return self._obstacle(node, node.parents) or supplier.column_processor(
                self._around.source(node.parents, punctuated=punctuated)
            )
        return ""

    def _lookup(self, join: JoinNode, supplier: ColumnLookupSupplier) -> ColumnProcessor | str:
        """Return a join with a table by columns, which takes that the table runs by columns."""
        obstacle = self._lookup_obstacle(join)
        if obstacle is not None:
            return obstacle
        table = self._table_above(join.ports[1])
        found = "" if table is None else self._found(table, punctuated=False)
        if isinstance(found, str):
            return f"its table {join.ports[1]!r} runs by records{found and f': {found}'}"
        stream = [join.ports[0]]
        return supplier.column_lookup(
            None if self._follows(stream) else self._around.source(stream)
        )

    def _answer(self, join: JoinNode, supplier: ColumnAnswerSupplier) -> ColumnProcessor | str:
        """Return a join that answers by columns, which takes that the table runs by columns."""
        if join.name not in self._together:
            return self._apart[join.name]
        subscriptions, table = join.ports
        obstacle = self._around.input_obstacle([subscriptions])
        if obstacle is not None:
            return obstacle
        if not self._follows([table]):
            return f"its table {table!r} runs by records"
        return supplier.column_answer(self._around.source([subscriptions]))

    def _table_join(
        self, join: JoinNode, supplier: ColumnTableJoinSupplier
    ) -> ColumnProcessor | str:
        """Return a join of two tables by columns, which takes that both run by columns."""
        if join.name not in self._together:
            return self._apart[join.name]
        for port in join.ports:
            table = self._table_above(port)
            if table is None:
                return f"table {port!r} is of another group"
            found = self._found(table, punctuated=False)
            if isinstance(found, str):
                return f"its table {table.name!r} runs by records: {found}"
            if not self._follows([port]):
                return f"its table {port!r} runs by records"
        tables = {spec for port in join.ports for spec in self._stores_above(port)}
        own = [spec for spec in join.stores if spec not in tables]
        return (
            self._around.shared(join, own)
            or self._around.mixed(join)
            or supplier.column_table_join()
        )

    def _table_above(self, name: str) -> ProcessorNode | None:
        """Return the node that a table is, or that it is derived from without a store."""
        node = self._nodes.get(name)
        while node is not None and not node.stores and len(node.parents) == 1:
            node = self._nodes.get(node.parents[0])
        return node

    def _stores_above(self, name: str) -> tuple[StoreSpec[Any], ...]:
        """Return the stores of the table that a node is, or is derived from."""
        table = self._table_above(name)
        return () if table is None else tuple(table.stores)

    def _joins(self, name: str, table: ProcessorNode) -> bool:
        """Return whether a join takes the changes of a table."""
        return any(self._table_above(port) is table for port in self._nodes[name].parents)

    def _takes_results(self, node: ProcessorNode) -> bool:
        """Return whether a node is between an aggregation by columns and edges or topics.

        The aggregation runs by columns, whatever punctuators other nodes have.
        """
        above = self._nodes.get(node.parents[0])
        if len(node.parents) > 1 or above is None or not self._around.leaves(node):
            return False
        supplier: object = above.supplier
        if not isinstance(supplier, ColumnSupplier) or supplier.execution == "records":
            return False
        places, first = self._around.places, self._around.places[above.name]
        others = any(places[name] > first for name in self._nodes.keys() - {node.name})
        return isinstance(self._found(above, punctuated=others), ColumnProcessor)

    def _enters(self, node: ProcessorNode) -> bool:
        """Return whether an operator works by columns directly below sources.

        A limit does not: by records it stops the task at the record that reaches it.
        """
        return limit_of(node.supplier) is None and self._around.enters(node, self._together)

    def _ends_batch(self, parents: Sequence[str]) -> bool:
        """Return whether all records come from one node when a batch ends."""
        node = self._nodes.get(parents[0])
        return len(parents) == 1 and node is not None and waits_for_end(node)

    def _changes_obstacle(self, node: ProcessorNode) -> str | None:
        """Return the reason why a table that forwards its changes cannot run by columns.

        Other readers of its store may read only after all rows of the batch are put: at the end of
        the batch, or rows that have not changed.
        """
        below = self._ends_batch(node.parents) or self._follows(node.parents)
        obstacle = self._around.obstacle() if below else self._around.input_obstacle(node.parents)
        if obstacle is not None:
            return obstacle
        joins = {name for name in self._together if self._joins(name, node)}
        users = {user for spec in node.stores for user in self._around.users[spec.name]}
        others = users - joins - {node.name}
        if others:
            first = min(others, key=self._around.places.__getitem__)
            return f"node {first!r} gets its changes or reads its store"
        return self._around.mixed(node, but_for=joins)

    def _is_looked_up(self, table: ProcessorNode) -> bool:
        """Return whether joins look a table up, or nothing takes its changes."""
        readers = [self._nodes.get(name) for name in self._readers(table)]
        return not readers or any(
            isinstance(reader, JoinNode) and _looks_up(reader.supplier) for reader in readers
        )

    def _readers(self, table: ProcessorNode) -> set[str]:
        """Return who reads a table's store or takes its changes: of its views, who reads those."""
        found = {user for spec in table.stores for user in self._around.users[spec.name]}
        waiting = list(self._around.children[table.name])
        while waiting:
            child = waiting.pop()
            if isinstance(child, ProcessorNode) and _is_view(child):
                waiting.extend(self._around.children[child.name])
            else:
                found.add(child.name)
        return found - {table.name}

    def _table_obstacle(self, node: ProcessorNode) -> str | None:
        """Return the reason why a table, with the joins that read it, cannot run by columns."""
        obstacle = self._around.input_obstacle(node.parents)
        if obstacle is not None:
            return obstacle
        for name in sorted(self._readers(node)):
            join = self._nodes.get(name)
            if not isinstance(join, JoinNode) or not _looks_up(join.supplier):
                return f"node {name!r} gets its changes or reads its store"
            if self._table_above(join.ports[1]) is not node or _asked(join) == "records":
                return f"join {name!r} runs by records"
            obstacle = self._lookup_obstacle(join)
            if obstacle is not None:
                return f"join {name!r} runs by records: {obstacle}"
        return None

    def _lookup_obstacle(self, join: JoinNode) -> str | None:
        """Return why a join with a table cannot run by columns, whatever the table does."""
        stream, table = join.ports
        if not self._follows([stream]):
            obstacle = self._around.input_obstacle([stream])
            if obstacle is not None:
                return obstacle
        kept = self._stores_above(table)
        own = [spec for spec in join.stores if spec not in kept]
        return self._around.shared(join, own) or self._around.mixed(join, table)

    def _obstacle(self, node: ProcessorNode, *inputs: Sequence[str]) -> str | None:
        """Return why a node cannot run by columns, whatever it does."""
        for parents in inputs:
            obstacle = self._around.input_obstacle(parents)
            if obstacle is not None:
                return obstacle
        return self._around.shared(node, node.stores) or self._around.mixed(node)

    def _follows(self, parents: Sequence[str]) -> bool:
        """Return whether all records come from a join or table by columns, or its followers."""
        node = self._nodes.get(parents[0])
        if len(parents) > 1 or node is None:
            return False
        leads = isinstance(node.supplier, (ChainedSupplier, ColumnChangesSupplier))
        if not leads and not isinstance(node, JoinNode):
            return False
        if _asked(node) == "records":
            return False
        return isinstance(self._found(node, punctuated=False), ColumnProcessor)


def execution_problems(groups: tuple[PartitionGroup, ...]) -> Iterator[str]:
    """Yield the problems of nodes that ask for columns and cannot run by columns."""
    for group in groups:
        planner = ExecutionPlanner(group)
        for node in group.processors:
            problem = planner.problem(node)
            if problem is not None:
                yield problem


def _is_view(node: ProcessorNode) -> bool:
    supplier: object = node.supplier
    return isinstance(supplier, TableViewSupplier) and supplier.is_view


def _joins_changes(node: ProcessorNode) -> bool:
    supplier: object = node.supplier
    kinds = (ColumnAnswerSupplier, ColumnTableJoinSupplier)
    return isinstance(node, JoinNode) and isinstance(supplier, kinds)


def _looks_up(supplier: object) -> bool:
    return isinstance(supplier, ColumnLookupSupplier)


def _asked(node: ProcessorNode) -> Execution:
    """Return how a node is to run."""
    supplier: object = node.supplier
    if isinstance(supplier, type):
        return "auto"
    if isinstance(supplier, (ColumnSupplier, ColumnJoinSupplier, ColumnLookupSupplier)):
        return supplier.execution
    return "auto"


def _refusal(node: ProcessorNode, reason: str) -> str:
    return f"node {node.name!r} cannot run by columns: {reason}"
