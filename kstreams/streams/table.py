"""`Table`: the last value of each key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from kstreams._types import K2, V2, K, V
from kstreams.graph import nodes
from kstreams.graph.nodes import Node
from kstreams.joins.tables.derivations import Kept, Mapped
from kstreams.options import checks_options
from kstreams.processors.emission import EachUpdate, OncePerBatch, once_per_batch
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.streams.checks import (
    KEY_AND_VALUE,
    ONE_VALUE,
)
from kstreams.streams.facts import Facts
from kstreams.streams.functions import name_of
from kstreams.streams.plan import Plan, Step
from kstreams.streams.stream import Stream
from kstreams.streams.table_joins import TableJoins
from kstreams.topic import Topic

if TYPE_CHECKING:
    from kstreams.streams.grouped_table import GroupedTable

__all__ = ("Table",)

_ONCE = once_per_batch()
_Emit = EachUpdate | OncePerBatch
_Rows = StoreSpec[TimestampedStore[K, V]] | str | None
_Group = Callable[[K, V], K2 | None]


class Table(TableJoins[K, V]):
    """The last value of each key; each change is forwarded to downstream steps.

    In all steps, `store=` is the definition of a store of the rows, for views, changelogs and
    processors, or only its name; the rows of derived and joined tables have no store by default.

    Source: `org.apache.kafka.streams.kstream.KTable`.
    """

    def __init__(
        self,
        plan: Plan,
        facts: Facts,
        table: Callable[[], nodes.Table[K, V]],
        results: Callable[[_Emit], Node[K, V]] | None = None,
    ) -> None:
        super().__init__(plan, facts)
        self._table = Step(plan, table)
        self._results = results
        self._is_table = results is None
        self._emits: list[_Emit] = []
        self._settle = Step(plan, self._settled)

    def map_values(
        self,
        function: Callable[[V], V2 | None],
        *,
        value: Serde[V2] | None = None,
        store: _Rows[K, V2] = None,
    ) -> Table[K, V2]:
        """Return a table of the results of a function; None deletes the row; `KTable#mapValues`."""
        return self._derived("map-values", function, Mapped(function), value, store)

    def filter(
        self, predicate: Callable[[K, V], bool], *, store: _Rows[K, V] = None
    ) -> Table[K, V]:
        """Return a table of the rows for which a predicate is true; see `KTable#filter`."""
        return self._derived("filter", predicate, Kept(predicate), None, store)

    def derive(
        self,
        function: Callable[[K, V], V2 | None],
        *,
        value: Serde[V2] | None = None,
        store: _Rows[K, V2] = None,
    ) -> Table[K, V2]:
        """Return a table of the results of a function of key and value; None deletes the row."""
        return self._derived("derive", function, function, value, store)

    @checks_options
    def to_stream(self, *, emit: _Emit = _ONCE) -> Stream[K, V | None]:
        """Return a stream of the changed rows, None for a deleted row; see `KTable#toStream`.

        Args:
            emit: The emission of changes; see `TopologyBuilder.to_stream`.
        """
        call, plan = self._call("to_stream"), self._plan
        name = self._free("to-stream")
        self._emits.append(emit)

        def make() -> Node[K, Any]:
            results = self._settle()
            return results or plan.builder.to_stream(str(name), self._table(), emit=emit)

        facts = self._facts.after(call, nulls=True)
        stream: Stream[K, V | None] = Stream(plan, facts, plan.later(make))
        plan.unused[stream] = call
        return stream

    @checks_options
    def updates(self, *, emit: _Emit = _ONCE) -> Stream[K, V]:
        """Return a stream of the changed rows without the deleted ones; see `to_stream`."""
        stream = self.to_stream(emit=emit)
        if self._results is None:
            return stream.drop_nulls()
        stream._facts = replace(stream._facts, nulls=False)  # no row is ever deleted
        return cast("Stream[K, V]", stream)

    @checks_options
    def to(self, topic: Topic[K, V] | Topic[K, V | None], *, emit: _Emit = _ONCE) -> None:
        """Write the changed rows to a topic; a deleted row is a null value."""
        self.to_stream(emit=emit).to(cast("Topic[K, V | None]", topic))

    def group_by(
        self, function: _Group[K, V, K2], *, key: Serde[K2] | None = None
    ) -> GroupedTable[K2, V]:
        """Group the rows by another key; None belongs to no group; see `KTable#groupBy`."""
        from kstreams.streams.grouped_table import GroupedTable  # noqa: PLC0415

        return GroupedTable(self, function, self._with_keys_of("group_by", function, key))

    def node(self) -> nodes.Table[K, V]:
        """Return the table's handle in `Streams.builder`, after adding the steps above it."""
        return self._changes()()

    def _changes(self) -> Callable[[], nodes.Table[K, V]]:
        """Return the function that returns the table, and record that its changes are used."""
        self._is_table = True
        return self._table

    def _settled(self) -> Node[K, V] | None:
        """Add an aggregation without a table, and return its results.

        If steps use the table or different emissions, add the table, and return None.
        """
        if self._results is None or self._is_table or any(e != self._emits[0] for e in self._emits):
            self._table()
            return None
        return self._results(self._emits[0] if self._emits else _ONCE)

    def _derived(
        self,
        operation: str,
        shown: object,
        function: Callable[[Any, Any], Any],
        value: Serde[V2] | None,
        store: StoreSpec[Any] | str | None,
    ) -> Table[K, V2]:
        of_value = operation == "map-values"
        arguments = ONE_VALUE if of_value else KEY_AND_VALUE
        call, plan = self._call(operation.replace("-", "_"), shown, arguments), self._plan
        table = self._changes()
        changes: dict[str, Any] = {}
        found = self._facts.value
        if operation != "filter":
            types = self._facts.value_types() if of_value else None
            found, _, type_ = self._result(shown, value, call, types=types)
            changes = {"value": found, "value_type": type_}
        spec, name = self._rows(store, call, found, operation, name_of(shown))
        facts = self._facts.after(call, **changes)
        return Table(
            plan,
            facts,
            plan.later(lambda: plan.builder.derive(str(name), table(), function, store=spec)),
        )
