"""The input and output counts of a task's nodes in a batch, at minimal cost.

Sources, edges and loops know the number of records that they forward; collectors and processors
of tables know the number that they receive. A node that forwards one record for each input
determines the counts of the nodes above it. Calls are counted one by one only without such
information, mainly between two user-defined processors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from kstreams.graph.nodes import AnyProcessor, ProcessorNode
from kstreams.graph.topology import PartitionGroup
from kstreams.processors.branch import Branch
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.validate import Validate
from kstreams.record import Record
from kstreams.task.records.rows import RecordCall

__all__ = ("Flows", "NodeFlow", "Tally", "hands_on_of")

_Count = Callable[[], int]
_TableCall = Callable[[pa.Table], None]


class Tally:
    """Counts the records that pass one or several calls in a batch.

    The counts are closure variables, because attributes would take a quarter more time.
    """

    def __init__(self) -> None:
        self._cells: list[tuple[_Count, Callable[[int], None]]] = []

    def get(self) -> int:
        """Return the count."""
        return sum(get() for get, _ in self._cells)

    def mark(self) -> tuple[int, ...]:
        """Return the current counts, the argument of `cut`."""
        return tuple(get() for get, _ in self._cells)

    def cut(self, mark: tuple[int, ...]) -> None:
        """Restore the counts that `mark()` returned."""
        for (_, put), count in zip(self._cells, mark, strict=True):
            put(count)

    def clear(self) -> None:
        """Set the counts to zero."""
        for _, put in self._cells:
            put(0)

    def of_records(self, call: RecordCall) -> RecordCall:
        """Return a function that counts a record, then calls `call`."""
        count = 0

        def counted(record: Record[Any, Any]) -> None:
            nonlocal count
            count += 1
            call(record)

        def put(number: int) -> None:
            nonlocal count
            count = number

        self._cells.append((lambda: count, put))
        return counted

    def of_tables(self, call: _TableCall) -> _TableCall:
        """Return a function that counts the rows of a table, then calls `call`."""
        count = 0

        def counted(table: pa.Table) -> None:
            nonlocal count
            count += table.num_rows
            call(table)

        def put(number: int) -> None:
            nonlocal count
            count = number

        self._cells.append((lambda: count, put))
        return counted


@dataclass(frozen=True)
class NodeFlow:
    """The counters of a processor's forwarding.

    Attributes:
        to_all: Counts `forward`; None if no count is needed.
        to: By child, counts `forward_to`.
    """

    to_all: Tally | None = None
    to: Mapping[str, Tally] = field(default_factory=dict)

    def records_to_all(self, call: RecordCall) -> RecordCall:
        """Return `call`, the receiver of records for all children, with a counter if needed."""
        return call if self.to_all is None else self.to_all.of_records(call)

    def records_to(self, child: str, call: RecordCall) -> RecordCall:
        """Return `call`, the receiver of records for a child, with a counter if needed."""
        return self.to[child].of_records(call) if child in self.to else call

    def tables_to_all(self, call: _TableCall) -> _TableCall:
        """Return `call`, the receiver of tables for all children, with a counter if needed."""
        return call if self.to_all is None else self.to_all.of_tables(call)

    def tables_to(self, child: str, call: _TableCall) -> _TableCall:
        """Return `call`, the receiver of tables for a child, with a counter if needed."""
        return self.to[child].of_tables(call) if child in self.to else call


class Flows:
    """The counters of one task's nodes.

    `Wiring` registers the counters of each node when it connects the node's processor to its
    children; the nodes of children come first.

    Args:
        group: The nodes.
        intercepted: Whether interceptors may omit or repeat calls of processors.

    Attributes:
        passed: By source, edge or loop, the number of records that it forwarded in the batch.
        tallies: The counters of single calls.
    """

    def __init__(self, group: PartitionGroup, *, intercepted: bool) -> None:
        self._nodes = {node.name: node for node in group.nodes}
        self._children = group.children()
        self._intercepted = intercepted
        self._told: dict[str, _Count] = {}
        self._given: dict[str, Callable[[Mapping[str, int]], int]] = {}
        self._to: dict[tuple[str, str], Callable[[Mapping[str, int]], int]] = {}
        self.passed: Counter[str] = Counter()
        self.tallies: list[Tally] = []

    def set_input_count(self, node: str, count: _Count) -> None:
        """Register a function that returns the number of input records of a node in the batch."""
        self._told[node] = count

    def of(self, node: ProcessorNode, hands_on: HandsOn) -> NodeFlow:
        """Return the counters of a processor, after those of its children are registered.

        Args:
            node: The node of the processor.
            hands_on: The way in which the processor forwards records, from `hands_on_of`.
        """
        name = node.name
        children = list(dict.fromkeys(child.name for child in self._children[name]))
        known = {
            child: self._told[child]
            for child in children
            if child in self._told and set(self._nodes[child].parents) == {name}
        }
        one = hands_on == "one" and not self._intercepted
        if not children:
            self._given[name] = lambda _: 0
            return NodeFlow()
        if known and (len(children) == 1 or hands_on in ("one", "all")):
            count = next(iter(known.values()))
            self._set_output_count(name, children, lambda _: count())
            if one:
                self._told.setdefault(name, count)
            return NodeFlow()
        if one:
            self._set_output_count(name, children, lambda taken: taken[name])
            return NodeFlow()
        if hands_on == "some":
            return self._split(name, children, known)
        to_all = self._tally()
        if hands_on == "all" or len(children) == 1:
            self._set_output_count(name, children, _sum_of([to_all.get]))
            return NodeFlow(to_all, dict.fromkeys(children, to_all))
        to = {child: self._tally() for child in children}
        for child, tally in to.items():
            self._to[name, child] = _sum_of([to_all.get, tally.get])
        self._given[name] = _sum_of([to_all.get, *(tally.get for tally in to.values())])
        return NodeFlow(to_all, to)

    def _set_output_count(
        self, name: str, children: Iterable[str], count: Callable[[Mapping[str, int]], int]
    ) -> None:
        """Register a function that computes how many records a node forwards to every child."""
        self._given[name] = count
        for child in children:
            self._to[name, child] = count

    def _split(self, name: str, children: list[str], known: Mapping[str, _Count]) -> NodeFlow:
        to = {child: self._tally() for child in children if child not in known}
        counts = {child: known[child] if child in known else to[child].get for child in children}
        for child, count in counts.items():
            self._to[name, child] = _sum_of([count])
        self._given[name] = _sum_of(list(counts.values()))
        return NodeFlow(None, to)

    def _tally(self) -> Tally:
        tally = Tally()
        self.tallies.append(tally)
        return tally

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of input and output records, by node, except sources, edges and loops.

        For nodes other than processors, both numbers are equal.
        """
        taken: dict[str, int] = {}
        found: dict[str, tuple[int, int]] = {}
        for name, node in self._nodes.items():
            if not node.parents:
                continue
            told = self._told.get(name)
            taken[name] = (
                told()
                if told is not None
                else self._taken(name, dict.fromkeys(node.parents), taken)
            )
            given = self._given.get(name)
            found[name] = taken[name], taken[name] if given is None else given(taken)
        return found

    def _taken(self, name: str, parents: Iterable[str], taken: Mapping[str, int]) -> int:
        flows = ((parent, self._to.get((parent, name))) for parent in parents)
        return sum(self.passed[parent] if flow is None else flow(taken) for parent, flow in flows)

    def clear(self) -> None:
        """Set all counts to zero, for the next batch."""
        self.passed.clear()
        for tally in self.tallies:
            tally.clear()


def _sum_of(counts: list[_Count]) -> Callable[[Mapping[str, int]], int]:
    return lambda _: sum(count() for count in counts)


def hands_on_of(processor: AnyProcessor) -> HandsOn:
    """Return the way in which a processor forwards its records; `any` if it is unknown."""
    if isinstance(processor, ClosureProcessor):
        found: HandsOn = processor.hands_on
        return found
    return "some" if isinstance(processor, (Branch, Validate)) else "any"
