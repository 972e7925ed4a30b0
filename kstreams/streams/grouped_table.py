"""`GroupedTable`: aggregations of a table's rows by another key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from kstreams._types import K, S, V
from kstreams.aggregators.aggregator import InvertibleAggregator
from kstreams.aggregators.count import count
from kstreams.aggregators.over import over
from kstreams.aggregators.reduce import reducing
from kstreams.options import checks_options
from kstreams.processors.emission import EachUpdate, OncePerBatch, once_per_batch
from kstreams.serde.base import Serde
from kstreams.serde.numbers import INT64
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import timestamped_store
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.stored_names import dashed
from kstreams.streams.aggregations import result_serde, stored_name
from kstreams.streams.checks import BOTH_VALUES, ONE_VALUE, check_function
from kstreams.streams.facts import Facts, new_facts
from kstreams.streams.functions import name_of
from kstreams.streams.part import Part
from kstreams.streams.serdes import KnownSerde, needed
from kstreams.streams.table import Table

__all__ = ("GroupedTable",)

W = TypeVar("W")
"""The type of the aggregated part of a row."""
A = TypeVar("A")
"""The type of the results."""
_ONCE = once_per_batch()
_Emit = EachUpdate | OncePerBatch
_Rows = StoreSpec[TimestampedStore[K, V]] | str | None


class GroupedTable(Part[K, V]):
    """A table's rows by group; a row that leaves a group is removed from the group's result.

    `store=` is the definition of the store or its name, and `emit=` determines whether groups get
    the net change of each row in a batch, or each change; see `TopologyBuilder.regroup`.

    Source: `org.apache.kafka.streams.kstream.KGroupedTable`.
    """

    def __init__(
        self,
        table: Table[Any, Any],
        by: Callable[[Any, Any], K | None],
        facts: Facts,
        part: Callable[[Any], V] | None = None,
    ) -> None:
        super().__init__(table._plan, facts)
        self._rows = table
        self._by = by
        self._part = part

    def over(self, part: Callable[[V], W]) -> GroupedTable[K, W]:
        """Aggregate a part of each row: the result of a function, or a `field(...)`."""
        self._call("over", part, ONE_VALUE)
        before = self._part
        whole = part if before is None else lambda row: part(before(row))
        return GroupedTable(self._rows, self._by, self._facts, whole)

    @checks_options
    def count(self, *, store: _Rows[K, int] = None, emit: _Emit = _ONCE) -> Table[K, int]:
        """Count the rows of each group; see `KGroupedTable#count`."""
        return self._table("count", count(), INT64, store, emit)

    @checks_options
    def reduce(
        self,
        function: Callable[[V, V], V],
        remove: Callable[[V, V], V],
        *,
        value: Serde[V] | None = None,
        store: _Rows[K, V] = None,
        emit: _Emit = _ONCE,
    ) -> Table[K, V]:
        """Combine the values of each group's rows; see `KGroupedTable#reduce`.

        If a row changes, its old value is removed and its new value is added.

        Args:
            function: The adder: returns the group's value combined with a row's new value.
            remove: The subtractor: returns the group's value (first argument) without a row's old
                value (second argument), as `lambda total, old: total - old` for a sum.
            value: The serde of the values; needed if it is not known.
            store: See `GroupedTable`.
            emit: See `GroupedTable`.
        """
        call, found = self._call("reduce", function, BOTH_VALUES), self._facts.value
        check_function(remove, BOTH_VALUES, call)
        if self._part is not None and value is None:
            rows = self._rows
            found = rows._result(self._part, None, call, types=rows._facts.value_types()).serde
        made = reducing(function, value or needed(found, "value", call), remove=remove)
        return self._table(name_of(function) or "reduce", made, made.state, store, emit)

    @checks_options
    def aggregate(
        self,
        aggregator: InvertibleAggregator[K, V, S, A],
        *,
        value: Serde[A] | None = None,
        store: _Rows[K, S] = None,
        emit: _Emit = _ONCE,
    ) -> Table[K, A]:
        """Aggregate the rows of each group with an aggregator that can remove rows.

        Args:
            aggregator: Such as `sum_`, `mean` or `variance`.
            value: The serde of the results; needed if a later step writes results of another type
                than the states.
            store: See `GroupedTable`.
            emit: See `GroupedTable`.

        Source: `KGroupedTable#aggregate`.
        """
        call = self._call("aggregate")
        serde = value or result_serde(aggregator, self._plan.serdes, call)
        return self._table(stored_name(aggregator), aggregator, serde, store, emit)

    def _table(
        self,
        operation: str,
        aggregator: InvertibleAggregator[K, Any, Any, Any],
        value: KnownSerde,
        given: StoreSpec[Any] | str | None,
        emit: _Emit,
    ) -> Table[K, Any]:
        plan, facts, by = self._plan, self._facts, self._by
        call, part = self._call(operation.replace("-", "_")), self._part
        name = dashed(facts.label, "" if part is None else name_of(part), operation)
        serdes = {"key": facts.key, "value": aggregator.state}
        spec = self._store(given, name, call, timestamped_store, **serdes)
        rows, table = needed(facts.value, "value", call), self._rows._changes()
        whole = aggregator if part is None else over(part, aggregator)
        made = plan.later(
            lambda: plan.builder.regroup(
                spec.name, table(), by, whole, store=spec, emit=emit, value=rows
            )
        )
        return Table(plan, new_facts(spec.name, call, spec.key, value), made)
