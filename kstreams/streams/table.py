"""`Table`: the last value of each key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from kstreams._types import K2, V2, K, V
from kstreams.graph import nodes
from kstreams.graph.nodes import Node
from kstreams.joins.joiner import VO, Joiner, inner, left, outer
from kstreams.options import checks_options
from kstreams.processors.emission import EachUpdate, OncePerBatch, once_per_batch
from kstreams.serde.base import Serde
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.stored_names import dashed
from kstreams.streams.functions import name_of
from kstreams.streams.join_steps import Joinable, JoinCall
from kstreams.streams.plan import Facts, FreeName, Plan, Step
from kstreams.streams.serdes import KnownSerde, needed
from kstreams.streams.stream import Stream
from kstreams.streams.stream_base import StreamBase
from kstreams.topic import Topic

if TYPE_CHECKING:
    from kstreams.streams.grouped_table import GroupedTable

__all__ = ("Table",)

_ONCE = once_per_batch()
_Emit = EachUpdate | OncePerBatch
_Rows = StoreSpec[TimestampedStore[K, V]] | str | None
_Inner = Callable[[V, V2], VO]
_Left = Callable[[V, V2 | None], VO]
_Outer = Callable[[V | None, V2 | None], VO]
_Group = Callable[[K, V], K2 | None]
_Joiner = Callable[[], Joiner[Any, Any, Any, Any]]


class Table(Joinable[K, V]):
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
        return self._derived("map-values", function, lambda _, row: function(row), value, store)

    def filter(
        self, predicate: Callable[[K, V], bool], *, store: _Rows[K, V] = None
    ) -> Table[K, V]:
        """Return a table of the rows for which a predicate is true; see `KTable#filter`."""
        same: Any = self._facts.value
        return self._derived(
            "filter", predicate, lambda key, row: row if predicate(key, row) else None, same, store
        )

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

        facts = replace(self._facts, call=call, nulls=True)
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

    def join(
        self,
        other: Table[K, V2],
        joiner: _Inner[V, V2, VO | None],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join the rows of two tables by key; see `KTable#join`."""
        return self._joined_tables("join", joiner, inner(joiner), other, value, store)

    def left_join(
        self,
        other: Table[K, V2],
        joiner: _Left[V, V2, VO | None],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join each row with that of another table, or None; see `KTable#leftJoin`."""
        return self._joined_tables("left-join", joiner, left(joiner), other, value, store)

    def outer_join(
        self,
        other: Table[K, V2],
        joiner: _Outer[V, V2, VO | None],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join the rows of either table, the other may be None; see `KTable#outerJoin`."""
        return self._joined_tables("outer-join", joiner, outer(joiner), other, value, store)

    def join_by(
        self,
        other: Table[K2, V2],
        by: _Group[K, V, K2],
        joiner: _Inner[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join each row with a row of another table by a foreign key, which `by` returns.

        Source: `KTable#join(KTable, Function, ValueJoiner)` (KIP-213).
        """
        return self._joined_by("join", joiner, inner(joiner), other, by, value, store)

    def left_join_by(
        self,
        other: Table[K2, V2],
        by: _Group[K, V, K2],
        joiner: _Left[V, V2, VO],
        *,
        value: Serde[VO] | None = None,
        store: _Rows[K, VO] = None,
    ) -> Table[K, VO]:
        """Join as `join_by`, with None for no row; see `KTable#leftJoin`."""
        return self._joined_by("left-join", joiner, left(joiner), other, by, value, store)

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
        function: Callable[[K, V], V2 | None],
        value: Serde[V2] | None,
        store: StoreSpec[Any] | str | None,
    ) -> Table[K, V2]:
        call, plan, table = (
            self._call(operation.replace("-", "_"), shown),
            self._plan,
            self._changes(),
        )
        found = value or self._result(shown, None, call).serde
        spec, name = self._rows(store, call, found, operation, name_of(shown))
        facts = replace(self._facts, call=call, value=found)
        return Table(
            plan,
            facts,
            plan.later(lambda: plan.builder.derive(str(name), table(), function, store=spec)),
        )

    def _joined_tables(
        self,
        how: str,
        joiner: object,
        made: _Joiner,
        other: Table[K, Any],
        value: Serde[VO] | None,
        store: StoreSpec[Any] | str | None,
    ) -> Table[K, VO]:
        call, plan, right = self._call(how.replace("-", "_"), joiner), self._plan, other._facts
        result, _ = self._joined_value(joiner, value, call, how, right.value)
        spec, name = self._rows(store, call, result, how, right.label)
        label = dashed(self._facts.label, right.label)
        one, two = self._changes(), other._changes()
        return Table(
            plan,
            replace(self._facts, label=label, call=call, value=result),
            plan.later(lambda: plan.builder.join_tables(str(name), one(), two(), made, store=spec)),
        )

    def _joined_by(
        self,
        how: str,
        joiner: object,
        made: _Joiner,
        other: Table[Any, Any],
        by: Callable[[K, V], Any],
        value: Serde[VO] | None,
        store: StoreSpec[Any] | str | None,
    ) -> Table[K, VO]:
        call, plan = self._call(f"{how.replace('-', '_')}_by", joiner), self._plan
        result, _ = self._joined_value(joiner, value, call, how, other._facts.value)
        name = dashed(self._facts.label, how, other._facts.label)
        serdes = {"key": self._facts.key, "value": result}
        spec = self._store(store, name, call, timestamped_store, **serdes)
        rows = needed(self._facts.value, "value", call)
        one, two = self._changes(), other._changes()

        def make() -> nodes.Table[K, VO]:
            return plan.builder.join_foreign(
                spec.name, one(), two(), made, by=by, store=spec, value=rows
            )

        facts = Facts(spec.name, call, spec.key, spec.value)
        return Table(plan, facts, plan.later(make))

    def _rows(
        self, given: StoreSpec[Any] | str | None, call: str, value: KnownSerde, *parts: str
    ) -> tuple[StoreSpec[Any] | None, str | FreeName]:
        """Return the optional store of a derived table, and the name of its node."""
        if given is None:
            return None, self._free(*parts)
        serdes = {"key": self._facts.key, "value": value}
        spec = self._store(given, "", call, timestamped_store, **serdes)
        return spec, spec.name

    def _joined(self, stream: StreamBase[K, Any], call: JoinCall) -> Stream[K, Any]:
        plan, parent, table = self._plan, stream._take(), self._changes()
        name, execution = plan.free(call.name), call.execution
        return stream._stream(
            call.facts,
            lambda: plan.builder.join_table(
                str(name), parent(), table(), call.joiner, execution=execution
            ),
        )
