"""Choose the execution of each node of a partition group: by records or by columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kstreams.errors import TopologyError
from kstreams.graph.execution import reasons
from kstreams.graph.execution.column_records import ColumnRecords, takes_records
from kstreams.graph.execution.neighbors import Neighbors
from kstreams.graph.execution.shared_ancestors import joins_behind
from kstreams.graph.execution.tables import Tables
from kstreams.graph.nodes import JoinNode, ProcessorNode
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.column_form import (
    Input,
    Need,
    NodeForm,
    Output,
    Reason,
    column_form_of,
)
from kstreams.processors.columns import (
    ColumnProcessor,
    ColumnSource,
    Execution,
    RecordColumns,
)

__all__ = ("ExecutionPlanner", "execution_problems")

_OF_RECORDS = (Need.RECORDS, Need.DECODED)
_HINT = "leave execution='auto', which runs it by records then."


class ExecutionPlanner:
    """Chooses the execution of a group's nodes.

    The choice follows from the topology, except for two facts that only a run knows: whether a node
    has a stream-time punctuator, and whether an interceptor cannot wrap column processors.

    Args:
        group: The partition group whose nodes are planned.
        intercepted: Whether an interceptor cannot wrap column processors.
    """

    def __init__(self, group: PartitionGroup, *, intercepted: bool = False) -> None:
        self._nodes = {node.name: node for node in group.processors}
        offered = {
            name: form
            for name, node in self._nodes.items()
            if (form := column_form_of(node.supplier)) is not None
        }
        self._neighbors = Neighbors(group, offered, intercepted=intercepted)
        self._tables = Tables(self._nodes, offered, self._neighbors)
        self._forms = {name: self._chosen(name, form) for name, form in offered.items()}
        self._last = max((self._neighbors.places[name] for name in self._nodes), default=-1)
        self._made: dict[tuple[str, bool], ColumnProcessor | Reason] = {}
        self._records = ColumnRecords(
            self._nodes,
            self._forms,
            self._neighbors,
            found=lambda node: self._found(node, punctuated=False),
            own_reason=self._own_reason,
        )
        self._together = {name for name, form in self._forms.items() if form.takes_changes}
        self._apart: dict[str, Reason] = {}
        if self._together:
            self._choose_joins_of_changes(group)

    def _choose_joins_of_changes(self, group: PartitionGroup) -> None:
        """Find the joins of table changes that run by columns, and reasons against the others.

        A table runs by columns only if all joins that receive its changes do, and a join only if
        its tables do. The search first assumes that all joins run by columns, and then removes the
        joins that cannot, until no join is removed.
        """
        obstacles: dict[str, Reason] = {
            name: reasons.BOTH_INPUTS
            for behind in joins_behind(group).values()
            for name in self._together.intersection(behind)
        }
        while True:
            self._apart.update(obstacles)
            self._together.difference_update(obstacles)
            self._made.clear()
            found = {
                name: self._found(self._nodes[name], punctuated=False)
                for name in sorted(self._together)
            }
            obstacles = {name: why for name, why in found.items() if isinstance(why, Reason)}
            if not obstacles:
                return

    def _chosen(self, name: str, form: NodeForm) -> NodeForm:
        """Return a node's column form; for a table that joins look up, its form for lookups."""
        if form.looked_up is not None and self._tables.is_looked_up(self._nodes[name]):
            return form.looked_up
        return form

    def column_processor(self, node: ProcessorNode, *, punctuated: bool) -> ColumnProcessor | None:
        """Return a new column processor for a node; None if the node runs by records.

        Args:
            node: The node that the processor is for.
            punctuated: Whether a node that comes later in the order of the group has a
                stream-time punctuator.

        Raises:
            TopologyError: The node has `execution="columns"` and cannot run by columns; the error
                names the reason.
        """
        asked = self._requested_execution(node)
        if asked == "records":
            return None
        found = self._found(node, punctuated=punctuated)
        if isinstance(found, ColumnProcessor):
            return found
        if asked == "columns":
            raise TopologyError(_refusal(node, found), hint=_HINT)
        return None

    def problem(self, node: ProcessorNode) -> str | None:
        """Return the problem of a node that requires but cannot use columns, or None."""
        if self._requested_execution(node) != "columns":
            return None
        found = self._found(node, punctuated=False)
        return None if isinstance(found, ColumnProcessor) else f"{_refusal(node, found)}: {_HINT}"

    def summary(self, node: ProcessorNode) -> str | None:
        """Return a node's execution and the reason; None for a node without a column form.

        If the execution depends on punctuators, which are known only when the app runs, the text
        states the condition.
        """
        if self._requested_execution(node) == "records":
            return "records (execution='records')"
        found = self._found(node, punctuated=False)
        if not isinstance(found, ColumnProcessor):
            return f"records ({found})" if found else None
        if self._neighbors.places[node.name] < self._last:
            found = self._found(node, punctuated=True)
        if not isinstance(found, ColumnProcessor):
            return "columns (records if a node after it has a stream-time punctuator)"
        return f"columns{self._objects(node, found)}"

    def _objects(self, node: ProcessorNode, found: ColumnProcessor) -> str:
        """Return a note for `describe()` if a `columns(...)` function gets its fields of objects.

        Empty if the node reads the fields from the columns of records.
        """
        form = self._forms.get(node.name)
        if form is None or form.over_records is None or form.passes_all:
            return ""
        if isinstance(found, RecordColumns):
            return ""
        return f" (its records are decoded to objects: {self._records.processor(node, form)})"

    def _requested_execution(self, node: ProcessorNode) -> Execution:
        """Return the requested execution of a node."""
        form = self._forms.get(node.name)
        return "auto" if form is None else form.execution

    def _found(self, node: ProcessorNode, *, punctuated: bool) -> ColumnProcessor | Reason:
        """Return a node's column processor, or the reason why it has none; cache the result.

        A table depends on itself if a join looks up its rows for a stream of its own changes. Such
        a table runs by records, because its columnar form for lookups would forward no changes.
        """
        place = node.name, punctuated
        if place not in self._made:
            self._made[place] = ""  # for calls of a node that depends on itself
            self._made[place] = self._make(node, punctuated=punctuated)
        return self._made[place]

    def _make(self, node: ProcessorNode, *, punctuated: bool) -> ColumnProcessor | Reason:
        form = self._forms.get(node.name)
        if form is None:
            return ""
        if node.name in self._apart:
            return self._apart[node.name]
        if form.over_records is None:
            return self._built(node, form, punctuated=punctuated)
        found = self._records.processor(node, form)
        if isinstance(found, ColumnProcessor):
            return found
        called = self._built(node, form, punctuated=punctuated)
        return called if isinstance(called, ColumnProcessor) else found

    def _built(
        self, node: ProcessorNode, form: NodeForm, *, punctuated: bool
    ) -> ColumnProcessor | Reason:
        inputs = self._inputs(node, form, punctuated=punctuated)
        if isinstance(inputs, Reason):
            return inputs
        reason = self._reason(node, form, inputs)
        if reason is not None:
            return reason
        made = form.build(*inputs)
        if isinstance(made, Reason) or not takes_records(form):
            return made
        return self._records.adapted(node, made)

    def _inputs(
        self, node: ProcessorNode, form: NodeForm, *, punctuated: bool
    ) -> list[Input] | Reason:
        """Return a node's inputs, or why the parents of one forward no rows that it accepts."""
        inputs = []
        for parents, need in _ports(node, form):
            met = self._met(node, form, parents, need)
            if isinstance(met, Reason):
                return met
            records = met in _OF_RECORDS
            source = self._source(node, form, parents) if records else None
            if isinstance(source, Reason):
                return source
            inputs.append(Input(met, source, punctuated))
        return inputs

    def _source(
        self, node: ProcessorNode, form: NodeForm, parents: Sequence[str]
    ) -> ColumnSource | Reason:
        """Return the serdes of the records of an input, or why its parents forward none."""
        if takes_records(form):
            return self._records.source(node)
        reason = self._neighbors.records_reason(parents)
        return self._neighbors.source(parents) if reason is None else reason

    def _met(
        self, node: ProcessorNode, form: NodeForm, parents: Sequence[str], need: Need
    ) -> Need | Reason:
        """Return the kind of rows that an input gets from its parents by columns.

        It is the first kind in `need`, the kinds that the input accepts, that the parents forward.
        If they forward none, return the reason; it is empty if it is not known.
        """
        reason: Reason | None
        if Need.CHANGES in need:
            reason = self._changes_reason(parents[0], need)
            return need if reason is None else reason
        if Need.COLUMNS in need and self._follows(parents):
            return Need.COLUMNS
        if Need.RESULTS in need and self._takes_results(node):
            return Need.RESULTS
        if Need.DECODED in need and self._neighbors.take_decoded(node, self._together):
            return Need.DECODED
        if Need.BATCH_END in need and self._end_with_batch(parents):
            reason = self._neighbors.group_reason()
            return Need.BATCH_END if reason is None else reason
        if Need.RECORDS in need:
            source = self._source(node, form, parents)
            return source if isinstance(source, Reason) else Need.RECORDS
        return Need.ROWS if Need.ROWS in need else ""

    def _changes_reason(self, port: str, need: Need) -> Reason | None:
        """Return the reason why a join cannot process a table's changes by columns, or None."""
        if Need.ROWS in need:
            table = self._tables.above(port)
            if table is None:
                return reasons.other_group(port)
            found = self._found(table, punctuated=False)
            if isinstance(found, Reason):
                return reasons.table_by_records(table.name, found)
        return None if self._follows([port]) else reasons.table_by_records(port)

    def _reason(
        self, node: ProcessorNode, form: NodeForm, inputs: Sequence[Input]
    ) -> Reason | None:
        """Return why a node with suitable inputs cannot run by columns, or None if it can.

        The reasons are other nodes, such as a node that uses the same store.
        """
        if form.follower and inputs[0].need is not Need.RECORDS:
            return None
        match form.output:
            case Output.NOTHING:
                return self._lookups_reason(node)
            case Output.CHANGES:
                return self._tables.changes_reason(node, self._together)
            case _:
                return self._own_reason(node, form) or self._rows_reason(node, form)

    def _own_reason(self, node: ProcessorNode, form: NodeForm) -> Reason | None:
        """Return why neighbors prevent a node's execution by columns, or None if they do not."""
        looked_up = _looked_up(node, form)
        tables = node.parents if form.takes_changes else looked_up
        kept = {spec for name in tables for spec in self._tables.stores_above(name)}
        own = [spec for spec in node.stores if spec not in kept]
        return self._neighbors.shared(node, own) or self._neighbors.mixed(node, *looked_up)

    def _rows_reason(self, node: ProcessorNode, form: NodeForm) -> Reason | None:
        """Return a reason if a table that the node looks up runs by records; otherwise None."""
        for name in _looked_up(node, form):
            table = self._tables.above(name)
            found = "" if table is None else self._found(table, punctuated=False)
            if isinstance(found, Reason):
                return reasons.table_by_records(name, found or None)
        return None

    def _lookups_reason(self, table: ProcessorNode) -> Reason | None:
        """Return why a table and the joins that look it up cannot run by columns; or None.

        By columns, the table forwards nothing, so each of its readers must be a join that looks it
        up, and each such join must also be able to run by columns.
        """
        for name in sorted(self._tables.readers(table)):
            if not self._tables.looks_up(name):
                return reasons.table_read(name)
            join, form = self._nodes[name], self._forms[name]
            reads = any(self._tables.above(port) is table for port in _looked_up(join, form))
            if not reads or form.execution == "records":
                return reasons.join_by_records(name)
            found = self._inputs(join, form, punctuated=False)
            reason = found if isinstance(found, Reason) else self._own_reason(join, form)
            if reason is not None:
                return reasons.join_by_records(name, reason)
        return None

    def _takes_results(self, node: ProcessorNode) -> bool:
        """Return whether a node's parent is a columnar aggregation and its children encode rows.

        The children must be repartition edges and topics. The aggregation must run by columns even
        if other nodes have punctuators.
        """
        above = self._nodes.get(node.parents[0])
        if len(node.parents) > 1 or above is None or not self._neighbors.encode_at_once(node):
            return False
        form = self._forms.get(above.name)
        if form is None or form.output is not Output.RESULTS or form.execution == "records":
            return False
        places, first = self._neighbors.places, self._neighbors.places[above.name]
        others = any(places[name] > first for name in self._nodes.keys() - {node.name})
        return isinstance(self._found(above, punctuated=others), ColumnProcessor)

    def _end_with_batch(self, parents: Sequence[str]) -> bool:
        """Return whether there is only one parent, and it forwards only when the batch ends."""
        return len(parents) == 1 and self._neighbors.at_batch_end(parents[0])

    def _follows(self, parents: Sequence[str]) -> bool:
        """Return whether there is only one parent, and it runs by columns and is no aggregation."""
        form = self._forms.get(parents[0])
        if len(parents) > 1 or form is None or form.output is Output.RESULTS:
            return False
        if form.execution == "records":
            return False
        return isinstance(self._found(self._nodes[parents[0]], punctuated=False), ColumnProcessor)


def execution_problems(groups: tuple[PartitionGroup, ...]) -> Iterator[str]:
    """Yield the problem of each node that requires columns but cannot run by columns."""
    for group in groups:
        planner = ExecutionPlanner(group)
        for node in group.processors:
            problem = planner.problem(node)
            if problem is not None:
                yield problem


def _ports(node: ProcessorNode, form: NodeForm) -> list[tuple[Sequence[str], Need]]:
    """Return the parents of each input of a node, and the kinds of rows that the input accepts."""
    ports = [[port] for port in node.ports] if isinstance(node, JoinNode) else [node.parents]
    return list(zip(ports, form.needs, strict=True))


def _looked_up(node: ProcessorNode, form: NodeForm) -> list[str]:
    """Return the parent tables whose rows a node looks up without receiving their changes."""
    return [parents[0] for parents, need in _ports(node, form) if need is Need.ROWS]


def _refusal(node: ProcessorNode, reason: Reason) -> str:
    return f"node {node.name!r} cannot run by columns: {reason}"
