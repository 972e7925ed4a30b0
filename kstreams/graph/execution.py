"""Which execution each node gets: by records or by columns, and why.

A node runs by columns where its results are the same then, record for record. That takes a
node directly below sources or repartition edges, alone with its stores, and above nodes
that get records from nowhere else: others would be seen before or after its own. A table and
the joins that read it run by columns together, or not at all; operators that keep nothing, and
joins with global tables, follow a join that does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from kstreams.errors import TopologyError
from kstreams.graph.nodes import AnyNode, Entry, JoinNode, ProcessorNode, SourceNode, serdes_of
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.columns import (
    ChainedSupplier,
    ColumnAnswerSupplier,
    ColumnChangesSupplier,
    ColumnJoinSupplier,
    ColumnLookupSupplier,
    ColumnProcessor,
    ColumnSource,
    ColumnSupplier,
    ColumnTableSupplier,
    Execution,
)
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
        self._entries = {entry.name: entry for entry in group.inputs}
        self._followers = group.followers
        self._nodes = {node.name: node for node in group.processors}
        self._intercepted = intercepted
        self._children = group.children()
        self._places = {node.name: place for place, node in enumerate(group.nodes)}
        self._last = max((self._places[node.name] for node in group.processors), default=-1)
        self._made: dict[tuple[str, bool], ColumnProcessor | str] = {}
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
        if self._places[node.name] < self._last:
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
        if isinstance(supplier, ColumnTableSupplier) and self._is_looked_up(node):
            return self._table_obstacle(node) or supplier.column_table(self._source(node.parents))
        if isinstance(supplier, ColumnChangesSupplier):
            return self._changes_obstacle(node) or supplier.column_changes(
                self._source(node.parents)
            )
        if isinstance(supplier, ColumnAnswerSupplier) and isinstance(node, JoinNode):
            return self._answer(node, supplier)
        if isinstance(supplier, ColumnLookupSupplier) and isinstance(node, JoinNode):
            return self._lookup(node, supplier)
        if isinstance(supplier, ColumnJoinSupplier) and isinstance(node, JoinNode):
            left, right = ([port] for port in node.ports)
            return self._obstacle(node, left, right) or supplier.column_join(
                self._source(left, punctuated=punctuated),
                self._source(right, punctuated=punctuated),
            )
        if isinstance(supplier, ColumnSupplier):
            return self._obstacle(node, node.parents) or supplier.column_processor(
                self._source(node.parents, punctuated=punctuated)
            )
        return ""

    def _lookup(self, join: JoinNode, supplier: ColumnLookupSupplier) -> ColumnProcessor | str:
        """Return a join with a table by columns, which takes that the table runs by columns."""
        obstacle = self._lookup_obstacle(join)
        if obstacle is not None:
            return obstacle
        table = self._nodes.get(join.ports[1])
        found = "" if table is None else self._found(table, punctuated=False)
        if isinstance(found, str):
            return f"its table {join.ports[1]!r} runs by records{found and f': {found}'}"
        stream = [join.ports[0]]
        return supplier.column_lookup(None if self._follows(stream) else self._source(stream))

    def _answer(self, join: JoinNode, supplier: ColumnAnswerSupplier) -> ColumnProcessor | str:
        """Return a join that answers by columns, which takes that the table runs by columns."""
        subscriptions, table = join.ports
        obstacle = self._input_obstacle([subscriptions])
        if obstacle is not None:
            return obstacle
        if not self._follows([table]):
            return f"its table {table!r} runs by records"
        return supplier.column_answer(self._source([subscriptions]))

    def _changes_obstacle(self, node: ProcessorNode) -> str | None:
        """Return why a table cannot be kept by columns that forwards its changes.

        What reads its store may do so only when the batch ends.
        """
        obstacle = self._input_obstacle(node.parents)
        if obstacle is not None:
            return obstacle
        answering = {name for name in self._nodes if self._answers(name, node)}
        users = {user for spec in node.stores for user in self._users[spec.name]}
        others = users - answering - {node.name}
        if others:
            first = min(others, key=self._places.__getitem__)
            return f"node {first!r} gets its changes or reads its store"
        return self._mixed(node, but_for=answering)

    def _answers(self, name: str, table: ProcessorNode) -> bool:
        """Return whether a node is a join by columns that answers the changes of a table."""
        join = self._nodes[name]
        supplier: object = join.supplier
        if not isinstance(join, JoinNode) or not isinstance(supplier, ColumnAnswerSupplier):
            return False
        above = self._nodes.get(join.ports[1])
        while above is not None and above is not table and len(above.parents) == 1:
            chains = isinstance(above.supplier, ChainedSupplier)
            above = self._nodes.get(above.parents[0]) if chains and not above.stores else None
        return above is table and self._input_obstacle([join.ports[0]]) is None

    def _is_looked_up(self, table: ProcessorNode) -> bool:
        """Return whether joins look a table up, or nothing takes its changes."""
        children = self._children[table.name]
        return not children or any(
            isinstance(child, JoinNode) and _looks_up(child.supplier) for child in children
        )

    def _table_obstacle(self, node: ProcessorNode) -> str | None:
        """Return why a table cannot be kept by columns, beside the joins that read it."""
        obstacle = self._input_obstacle(node.parents)
        if obstacle is not None:
            return obstacle
        readers = {user for spec in node.stores for user in self._users[spec.name]}
        for name in sorted(
            readers.union(child.name for child in self._children[node.name]) - {node.name}
        ):
            join = self._nodes.get(name)
            if not isinstance(join, JoinNode) or not _looks_up(join.supplier):
                return f"node {name!r} gets its changes or reads its store"
            if join.ports[1] != node.name or _asked(join) == "records":
                return f"join {name!r} runs by records"
            obstacle = self._lookup_obstacle(join)
            if obstacle is not None:
                return f"join {name!r} runs by records: {obstacle}"
        return None

    def _lookup_obstacle(self, join: JoinNode) -> str | None:
        """Return why a join with a table cannot run by columns, whatever the table does."""
        stream, table = join.ports
        if not self._follows([stream]):
            obstacle = self._input_obstacle([stream])
            if obstacle is not None:
                return obstacle
        kept = self._nodes[table].stores if table in self._nodes else ()
        own = [spec for spec in join.stores if spec not in kept]
        return self._shared(join, own) or self._mixed(join, table)

    def _obstacle(self, node: ProcessorNode, *inputs: Sequence[str]) -> str | None:
        """Return why a node cannot run by columns, whatever it does."""
        for parents in inputs:
            obstacle = self._input_obstacle(parents)
            if obstacle is not None:
                return obstacle
        return self._shared(node, node.stores) or self._mixed(node)

    def _shared(self, node: ProcessorNode, stores: Iterable[StoreSpec[Any]]) -> str | None:
        """Return why a node cannot run by columns because others use its stores."""
        users = {user for spec in stores for user in self._users[spec.name]} - {node.name}
        if not users:
            return None
        return f"node {min(users, key=self._places.__getitem__)!r} uses its store too"

    def _input_obstacle(self, parents: Sequence[str]) -> str | None:
        """Return why what parents forward cannot come as columns."""
        if self._intercepted:
            return "an interceptor has no bind_columns"
        above = [parent for parent in parents if parent not in self._entries]
        if above:
            return f"it is below processor {above[0]!r}, rather than directly below a source"
        loops = [parent for parent in parents if parent in self._followers]
        if loops:
            return f"records of loop {loops[0]!r} do not move stream time"
        entries = [self._entries[parent] for parent in parents]
        if len({serdes_of(entry) for entry in entries}) > 1:
            return f"its sources {_listed(entries)} have different serdes"
        lenient = [entry for entry in self._entries.values() if entry.on_error != "fail"]
        if lenient:
            return f"{lenient[0].name!r} goes on after records that fail (on_error)"
        return None

    def _source(self, parents: Sequence[str], *, punctuated: bool = False) -> ColumnSource:
        entries = [self._entries[parent] for parent in parents]
        key, value = serdes_of(entries[0])
        nulls = any(not isinstance(e, SourceNode) or e.topic.nulls == "pass" for e in entries)
        return ColumnSource(key, value, nulls, punctuated)

    def _follows(self, parents: Sequence[str]) -> bool:
        """Return whether all records come from one join or table by columns, or what follows it."""
        node = self._nodes.get(parents[0])
        if len(parents) > 1 or node is None:
            return False
        leads = isinstance(node.supplier, (ChainedSupplier, ColumnChangesSupplier))
        if not leads and not isinstance(node, JoinNode):
            return False
        if _asked(node) == "records":
            return False
        return isinstance(self._found(node, punctuated=False), ColumnProcessor)

    def _mixed(
        self, node: ProcessorNode, *others: str, but_for: Collection[str] = ()
    ) -> str | None:
        """Return which node below another one gets records from elsewhere too.

        Args:
            node: The node.
            others: Nodes that it gets them from in any case.
            but_for: Nodes to which the order of their inputs does not matter.
        """
        below = self._below(node, but_for)
        known = {node.name, *others, *(other.name for other in below)}
        for other in below:
            if not known.issuperset(other.parents):
                return f"node {other.name!r} below it gets records from elsewhere too"
        return None

    def _below(self, node: ProcessorNode, but_for: Collection[str]) -> list[AnyNode]:
        """Return the nodes that a node's records may reach, in the group's order."""
        found: dict[str, AnyNode] = {}
        waiting = list(self._children[node.name])
        while waiting:
            other = waiting.pop()
            if other.name not in found and other.name not in but_for:
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


def _listed(entries: list[Entry]) -> str:
    return " and ".join(repr(entry.name) for entry in entries)
