"""Properties of a group that prevent execution of a node by columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

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
from kstreams.processors.columns import (
    BatchEndSupplier,
    ChainedSupplier,
    ColumnChangesSupplier,
    ColumnSource,
    ColumnTableJoinSupplier,
)
from kstreams.processors.limit import limit_of
from kstreams.state.stores.spec import StoreSpec
from kstreams.topic import Topic

__all__ = ("Surroundings", "waits_for_end")


class Surroundings:
    """The nodes of a group, and the obstacles to execution by columns around each.

    Args:
        group: The group.
        intercepted: Whether an interceptor cannot wrap column processors.

    Attributes:
        children: The nodes below each node.
        places: Position of each node in the group's order.
        users: The nodes that use each store.
    """

    def __init__(self, group: PartitionGroup, *, intercepted: bool) -> None:
        self._entries = {entry.name: entry for entry in group.inputs}
        self._followers = group.followers
        self._intercepted = intercepted
        self.children = group.children()
        self.places = {node.name: place for place, node in enumerate(group.nodes)}
        self.users: dict[str, list[str]] = {}
        for node in group.processors:
            for spec in (*node.stores, *node.reads):
                self.users.setdefault(spec.name, []).append(node.name)

    def shared(self, node: ProcessorNode, stores: Iterable[StoreSpec[Any]]) -> str | None:
        """Return why a node cannot run by columns because others use its stores."""
        users = {user for spec in stores for user in self.users[spec.name]} - {node.name}
        if not users:
            return None
        return f"node {min(users, key=self.places.__getitem__)!r} uses its store too"

    def input_obstacle(self, parents: Sequence[str]) -> str | None:
        """Return why what parents forward cannot come as columns."""
        obstacle = self.obstacle()
        if obstacle is not None:
            return obstacle
        above = [parent for parent in parents if parent not in self._entries]
        if above:
            return f"it is below processor {above[0]!r}, rather than directly below a source"
        loops = [parent for parent in parents if parent in self._followers]
        if loops:
            return f"records of loop {loops[0]!r} do not move stream time"
        entries = [self._entries[parent] for parent in parents]
        if len({serdes_of(entry) for entry in entries}) > 1:
            return f"its sources {_listed(entries)} have different serdes"
        return None

    def obstacle(self) -> str | None:
        """Return why no node of the group can run by columns."""
        if self._intercepted:
            return "an interceptor has no bind_columns"
        lenient = [entry for entry in self._entries.values() if entry.on_error != "fail"]
        if lenient:
            return f"{lenient[0].name!r} goes on after records that fail (on_error)"
        return None

    def source(self, parents: Sequence[str], *, punctuated: bool = False) -> ColumnSource:
        """Return the columns that parents forward; all parents are entries.

        Args:
            parents: Names of the entries.
            punctuated: Whether a node below has a stream-time punctuator.
        """
        entries = [self._entries[parent] for parent in parents]
        key, value = serdes_of(entries[0])
        nulls = any(not isinstance(e, SourceNode) or e.topic.nulls == "pass" for e in entries)
        return ColumnSource(key, value, nulls, punctuated)

    def enters(self, node: ProcessorNode, joins: Collection[str]) -> bool:
        """Return whether a stateless operator runs by columns directly below sources.

        It does if columns can take all that it forwards: through stateless operators to edges,
        tables, their joins and topics. Other nodes may need the current record; and objects that a
        function could change after forwarding them are encoded before.

        Args:
            node: The operator.
            joins: Joins of changes that run by columns.
        """
        if self.input_obstacle(node.parents) or self.mixed(node, but_for=joins):
            return False
        below = self._below(node, joins)
        return bool(below) and all(_goes_on(other) for other in below)

    def leaves(self, node: ProcessorNode) -> bool:
        """Return whether all that a node forwards is encoded at once: by edges and topics."""
        below = self.children[node.name]
        return bool(below) and not self.mixed(node) and all(map(_encodes, below))

    def mixed(self, node: ProcessorNode, *others: str, but_for: Collection[str] = ()) -> str | None:
        """Return which node below another one gets records from elsewhere too.

        Args:
            node: The node.
            others: Nodes that it gets them from in any case.
            but_for: Nodes to which the order of their inputs does not matter.
        """
        if waits_for_end(node):
            return None  # it forwards in its own turn, by records too
        below = self._below(node, but_for)
        known = {node.name, *others, *(other.name for other in below)}
        for other in below:
            if not known.issuperset(other.parents):
                return f"node {other.name!r} below it gets records from elsewhere too"
        return None

    def _below(self, node: ProcessorNode, but_for: Collection[str]) -> list[AnyNode]:
        """Return the nodes that a node's records may reach, in the group's order."""
        found: dict[str, AnyNode] = {}
        waiting = list(self.children[node.name])
        while waiting:
            other = waiting.pop()
            if other.name not in found and other.name not in but_for:
                found[other.name] = other
                waiting.extend(self.children[other.name])
        return sorted(found.values(), key=lambda other: self.places[other.name])


def _goes_on(node: AnyNode) -> bool:
    """Return whether a node takes columns, below operators that keep nothing."""
    if isinstance(node, ProcessorNode):
        supplier: object = node.supplier
        kinds = (ChainedSupplier, ColumnChangesSupplier, ColumnTableJoinSupplier)
        return isinstance(supplier, kinds) and limit_of(supplier) is None
    if isinstance(node, SinkNode):
        target = node.target
        return isinstance(target, Topic) and target.key.immutable and target.value.immutable
    return isinstance(node, RepartitionNode) and not node.counts_hops


def _encodes(node: AnyNode) -> bool:
    """Return whether a node encodes its input at once, so that no function can change it later."""
    if isinstance(node, RepartitionNode):
        return node.key.immutable and node.value.immutable and _goes_on(node)
    return isinstance(node, SinkNode) and _goes_on(node)


def waits_for_end(node: ProcessorNode) -> bool:
    """Return whether a node forwards nothing before a batch ends."""
    supplier: object = node.supplier
    return isinstance(supplier, BatchEndSupplier) and supplier.at_batch_end


def _listed(entries: list[Entry]) -> str:
    return " and ".join(repr(entry.name) for entry in entries)
