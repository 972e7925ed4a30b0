"""The neighbors of a node, and their reasons against execution by columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from kstreams.graph.execution.reasons import (
    INTERCEPTED,
    below_processor,
    continues_after_failures,
    follows_loop,
    met_below,
    mixed_below,
    other_serdes,
    store_shared,
    stores_met_below,
)
from kstreams.graph.nodes import (
    AnyNode,
    Entry,
    ProcessorNode,
    RepartitionNode,
    SinkNode,
    SourceNode,
    serdes_of,
)
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.column_form import NodeForm, Reason
from kstreams.processors.columns import ColumnSource
from kstreams.state.stores.spec import StoreSpec
from kstreams.topic import Topic

__all__ = ("Neighbors",)


class Neighbors:
    """The nodes of a partition group, with their order and their neighbors.

    Args:
        group: The partition group.
        forms: The column form of each node that has one.
        intercepted: Whether there is an interceptor that cannot wrap column processors.

    Attributes:
        children: The nodes below each node.
        places: Position of each node in the group's order.
        users: The nodes that use each store.
    """

    def __init__(
        self, group: PartitionGroup, forms: Mapping[str, NodeForm], *, intercepted: bool
    ) -> None:
        self._forms = forms
        self._entries: dict[str, Entry] = {entry.name: entry for entry in group.inputs}
        self._followers = group.followers
        self._intercepted = intercepted
        self.children = group.children()
        self.places = {node.name: place for place, node in enumerate(group.nodes)}
        self.users: dict[str, list[str]] = {}
        for node in group.processors:
            for spec in (*node.stores, *node.reads):
                self.users.setdefault(spec.name, []).append(node.name)

    def first(self, names: Iterable[str]) -> str:
        """Return the name of the node that comes first in the group's order."""
        return min(names, key=self.places.__getitem__)

    def source(self, parents: Sequence[str]) -> ColumnSource:
        """Return the serdes of the records that parents forward.

        All parents must be sources, repartition edges or loops.
        """
        entries = [self._entries[parent] for parent in parents]
        key, value = serdes_of(entries[0])
        nulls = any(not isinstance(e, SourceNode) or e.topic.nulls == "pass" for e in entries)
        return ColumnSource(key, value, nulls)

    def group_reason(self) -> Reason | None:
        """Return the reason why no node of the group can run by columns, or None."""
        if self._intercepted:
            return INTERCEPTED
        for entry in self._entries.values():
            if entry.on_error != "fail":
                return continues_after_failures(entry.name)
        return None

    def records_reason(self, parents: Sequence[str]) -> Reason | None:
        """Return the reason why parents do not forward encoded records; None if they do."""
        reason = self.group_reason()
        if reason is not None:
            return reason
        for parent in parents:
            if parent not in self._entries:
                return below_processor(parent)
        for parent in parents:
            if parent in self._followers:
                return follows_loop(parent)
        if len({serdes_of(self._entries[parent]) for parent in parents}) > 1:
            return other_serdes(parents)
        return None

    def shared(self, node: ProcessorNode, stores: Iterable[StoreSpec[Any]]) -> Reason | None:
        """Return why columns are not used, if other nodes use the node's stores; otherwise None."""
        users = {user for spec in stores for user in self.users[spec.name]} - {node.name}
        return store_shared(self.first(users)) if users else None

    def mixed(
        self, node: ProcessorNode, *others: str, but_for: Collection[str] = ()
    ) -> Reason | None:
        """Return a reason if a downstream node has several parents; otherwise None.

        With execution by columns, the order of such a node's records would change: all records of
        one parent would come before the records of the other parent. If only one of the parents is
        downstream of a node that forwards only when a batch ends, there is no such reason, because
        the order is the same with both executions.

        Args:
            node: The node that would run by columns.
            others: Names of other nodes that may be parents of downstream nodes, because the order
                of their records does not change.
            but_for: Names of nodes whose results do not depend on the order of their inputs.
        """
        below = self._below(node, but_for)
        own = {node.name, *(other.name for other in below)}
        for other in below:
            if len(own.intersection(other.parents)) > 1:
                return met_below(other.name)
        reason = self._store_met(below)
        if reason is not None:
            return reason
        if self.at_batch_end(node.name):
            return None
        for other in below:
            if not own.union(others).issuperset(other.parents):
                return mixed_below(other.name)
        return None

    def _store_met(self, below: Sequence[AnyNode]) -> Reason | None:
        """Return why columns are not used if two nodes, neither below the other, use one store."""
        users: dict[str, AnyNode] = {}
        for other in below:
            if isinstance(other, ProcessorNode):
                for spec in (*other.stores, *other.reads):
                    first = users.setdefault(spec.name, other)
                    if first is not other and other not in self._below(first, ()):
                        return stores_met_below(first.name, other.name)
        return None

    def at_batch_end(self, name: str) -> bool:
        """Return whether a node forwards nothing before a batch ends."""
        form = self._forms.get(name)
        return form is not None and form.at_batch_end

    def take_decoded(self, node: ProcessorNode, joins: Collection[str]) -> bool:
        """Return whether an operator and its downstream nodes can process decoded columns.

        Only operators, edges, tables, joins of tables and topics may be downstream. Other nodes may
        need the current record. Also, if a function changed an object after forwarding it,
        execution by records would encode the object before the change, and execution by columns
        after it.

        Args:
            node: The node of the operator.
            joins: Names of the joins of table changes that run by columns.
        """
        if not self._takes_columns(node) or self.records_reason(node.parents) is not None:
            return False
        below = self._below(node, joins)
        return (
            bool(below)
            and not self.mixed(node, but_for=joins)
            and all(map(self._takes_columns, below))
        )

    def all_take_columns(self, node: ProcessorNode) -> bool:
        """Return whether an operator and all nodes downstream of it accept decoded columns."""
        return self._takes_columns(node) and all(map(self._takes_columns, self._below(node, ())))

    def encode_at_once(self, node: ProcessorNode) -> bool:
        """Return whether a node's children are all edges and topics, which encode its output."""
        below = self.children[node.name]
        return bool(below) and not self.mixed(node) and all(map(self._encodes, below))

    def _below(self, node: AnyNode, but_for: Collection[str]) -> list[AnyNode]:
        """Return the nodes downstream of a node, in the group's order, except `but_for`."""
        found: dict[str, AnyNode] = {}
        waiting = list(self.children[node.name])
        while waiting:
            other = waiting.pop()
            if other.name not in found and other.name not in but_for:
                found[other.name] = other
                waiting.extend(self.children[other.name])
        return sorted(found.values(), key=lambda other: self.places[other.name])

    def _takes_columns(self, node: AnyNode) -> bool:
        """Return whether a node accepts columns of decoded records."""
        match node:
            case ProcessorNode(name=name):
                form = self._forms.get(name)
                return form is not None and form.takes_columns and not form.may_stop
            case SinkNode(target=Topic() as topic):
                return topic.key.immutable and topic.value.immutable
            case RepartitionNode():
                return not node.counts_hops
            case _:
                return False

    def _encodes(self, node: AnyNode) -> bool:
        """Return whether a node encodes its input at once, before any function can change it."""
        match node:
            case RepartitionNode():
                return node.key.immutable and node.value.immutable and self._takes_columns(node)
            case SinkNode():
                return self._takes_columns(node)
            case _:
                return False
