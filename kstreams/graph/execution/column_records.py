"""Operators that compute functions by columns, and the nodes above and below them.

Such an operator reads the records of sources, edges or another such operator, and forwards records
alike. It runs by columns only if all nodes below it read its tables: topics, edges, operators, and
aggregations that run by columns. Each other node would see a difference, for example in the current
record.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kstreams.graph.execution import reasons
from kstreams.graph.execution.neighbors import Neighbors
from kstreams.graph.nodes import AnyNode, JoinNode, ProcessorNode, RepartitionNode, SinkNode
from kstreams.processors.column_form import Input, Need, NodeForm, Output, Reason
from kstreams.processors.columns import ColumnProcessor, ColumnSource, RecordColumns
from kstreams.processors.record_columns import AsRecords, RecordsOfColumns
from kstreams.topic import Topic

__all__ = ("ColumnRecords", "takes_records")


class ColumnRecords:
    """Plans the operators of a group that forward records by columns.

    Args:
        nodes: The processor nodes of the group, by name.
        forms: The column form of each node that has one.
        neighbors: The nodes around each node.
        found: Returns the column processor of a node, or why there is none.
        own_reason: Returns why neighbors prevent a node's execution by columns, or None.
    """

    def __init__(
        self,
        nodes: Mapping[str, ProcessorNode],
        forms: Mapping[str, NodeForm],
        neighbors: Neighbors,
        *,
        found: Callable[[ProcessorNode], ColumnProcessor | Reason],
        own_reason: Callable[[ProcessorNode, NodeForm], Reason | None],
    ) -> None:
        self._nodes = nodes
        self._forms = forms
        self._neighbors = neighbors
        self._found = found
        self._own_reason = own_reason

    def source(self, node: ProcessorNode) -> ColumnSource | Reason:
        """Return the serdes of the records that a node receives, or why it receives none."""
        above = self._above(node)
        if above is None:
            reason = self._neighbors.records_reason(node.parents)
            return self._neighbors.source(node.parents) if reason is None else reason
        found = self._found(above)
        if isinstance(found, RecordColumns):
            return found.forwarded
        form = self._forms.get(above.name)
        computed = form is not None and form.over_records is not None
        if computed and isinstance(found, Reason) and found:
            return reasons.above_by_records(above.name, found)
        return reasons.below_processor(above.name)

    def adapted(self, node: ProcessorNode, processor: ColumnProcessor) -> ColumnProcessor:
        """Return the processor of a node, such that it takes the tables of the node's parents."""
        source = None if self._above(node) is None else self.source(node)
        if not isinstance(source, ColumnSource):
            return processor
        if isinstance(processor, RecordColumns):
            return RecordsOfColumns(processor, source)
        return AsRecords(processor, source)

    def processor(self, node: ProcessorNode, form: NodeForm) -> ColumnProcessor | Reason:
        """Return the processor of an operator that forwards records, or why there is none."""
        source = self.source(node)
        if isinstance(source, Reason) or form.over_records is None:
            return source if isinstance(source, Reason) else ""
        made = form.over_records(source)
        if isinstance(made, Reason):
            return made
        reason = self._own_reason(node, form) or self._below(node, made.forwarded)
        return self.adapted(node, made) if reason is None else reason

    def _above(self, node: ProcessorNode) -> ProcessorNode | None:
        """Return a node's parent if it is a processor and the only parent."""
        return self._nodes.get(node.parents[0]) if len(node.parents) == 1 else None

    def _below(self, node: ProcessorNode, source: ColumnSource) -> Reason | None:
        """Return why a node below an operator cannot read its tables; None if all can."""
        for child in self._neighbors.children[node.name]:
            reason = self._child(child, source)
            if reason is not None:
                return reason
        return None

    def _child(self, child: AnyNode, source: ColumnSource) -> Reason | None:
        match child:
            case SinkNode(target=Topic()):
                return None
            case RepartitionNode(counts_hops=False):
                return None
            case ProcessorNode():
                return self._reader(child, source)
            case _:
                return reasons.needs_records(child.name)

    def _reader(self, child: ProcessorNode, source: ColumnSource) -> Reason | None:
        form = self._forms.get(child.name)
        if form is None or isinstance(child, JoinNode) or len(child.parents) > 1:
            return reasons.needs_records(child.name)
        if form.execution == "records":
            return reasons.needs_records(child.name, "execution='records'")
        if takes_records(form):
            made = form.build(Input(Need.RECORDS, source, self._precedes_others(child)))
            reason = made if isinstance(made, Reason) else self._own_reason(child, form)
            return None if reason is None else reasons.needs_records(child.name, reason)
        if form.over_records is not None:
            computed = form.over_records(source)
            if isinstance(computed, RecordColumns):
                return self._below(child, computed.forwarded)
        if form.takes_columns and self._neighbors.all_take_columns(child):
            return None
        return reasons.needs_records(child.name)

    def _precedes_others(self, node: ProcessorNode) -> bool:
        """Return whether other processors, which may have punctuators, come after a node."""
        places = self._neighbors.places
        return any(places[name] > places[node.name] for name in self._nodes)


def takes_records(form: NodeForm) -> bool:
    """Return whether a node may take the records of an operator: aggregations do."""
    return form.output is Output.RESULTS and form.needs == (Need.RECORDS,)
