"""Aggregate records by key, without windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from kstreams._types import K, S, V
from kstreams.aggregators.aggregator import Aggregator, aggregator_parameters
from kstreams.aggregators.columns.available import form_or_reason
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.aggregators.reduce import reducing
from kstreams.errors import TopologyError
from kstreams.options import checks_options
from kstreams.processors.aggregate_columns import AggregateColumns
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm, Output, Reason
from kstreams.processors.columns import ColumnProcessor, Execution
from kstreams.processors.context import ProcessorContext
from kstreams.processors.emission import EachUpdate, OncePerBatch, once_per_batch
from kstreams.processors.supplier import OneStoreSupplier, StoreParameters
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.stores.kind import check_kind
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.kind import TIMESTAMPED
from kstreams.state.stores.timestamped.rows import TimestampedRows
from kstreams.state.stores.timestamped.store import TimestampedStore

__all__ = ("AggregateSupplier", "aggregate", "check_states", "reduce")

_ONCE = once_per_batch()

A = TypeVar("A")
"""Type of the results."""
V_contra = TypeVar("V_contra", contravariant=True)
"""Type of the input values."""
A_co = TypeVar("A_co", covariant=True)
"""Type of the forwarded results."""


@dataclass(frozen=True)
class AggregateSupplier(OneStoreSupplier, Generic[K, V_contra, A_co]):
    """Creates the processors of `aggregate` and `reduce`, and declares their store.

    Pass it to `TopologyBuilder.add_processor` or to `TopologyBuilder.aggregate_table`.
    """

    aggregator: Aggregator[Any, Any, Any, Any]
    store: StoreSpec[Any]
    emit: EachUpdate | OncePerBatch
    execution: Execution

    def __call__(self) -> ClosureProcessor[K, V_contra, K, A_co]:
        """Return a new processor."""
        return _Aggregate(self.aggregator, self.store, self.emit)

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the parameters of the aggregator, on which the stored states depend."""
        return {self.store.name: aggregator_parameters(self.aggregator)}

    @property
    def column_form(self) -> NodeForm:
        """Return the column form of the aggregation, whose input is encoded records."""
        return NodeForm(
            (Need.RECORDS,), self._by_columns, output=Output.RESULTS, execution=self.execution
        )

    def _by_columns(self, rows: Input) -> ColumnProcessor | Reason:
        source, each = rows.records, isinstance(self.emit, EachUpdate)
        form = form_or_reason(
            self.aggregator,
            key=source.key,
            value=source.value,
            stored=self.store.key,
            objects=not each,
            object_keys=True,
        )
        if isinstance(form, str):
            return form
        return AggregateColumns(StampedForm(form), self.store, source, each=each)


@checks_options
def aggregate(
    aggregator: Aggregator[K, V, S, A],
    *,
    store: StoreSpec[TimestampedStore[K, S]],
    emit: EachUpdate | OncePerBatch = _ONCE,
    execution: Execution = "auto",
) -> AggregateSupplier[K, V, A]:
    """Aggregate all records of a key and forward results; the store is added to the topology.

    The timestamp of a result is the highest timestamp of its records. Null keys and null values are
    dropped and counted as `null-key` and `null-value`.

    Args:
        aggregator: Adds a record to the state of its key, and derives the result from the state.
        store: A `timestamped_store` whose `value` is the aggregator's `state`.
        emit: The emission of results: `once_per_batch()` (the default) or `each_update()`.
        execution: `auto` aggregates by columns if the results are the same: for built-in
            aggregators of numbers, directly below sources and repartition edges; with
            `once_per_batch()` also for `reducing`, for `max_` and `min_` of text, and for `over`
            with such an aggregator. `records` aggregates by records. `columns` is an error in
            `build()` if columns are not possible. `Topology.describe` shows the execution and the
            reason.

    Raises:
        TopologyError: The store is not a `timestamped_store`, or has another value serde.

    Source: `org.apache.kafka.streams.kstream.KGroupedStream#aggregate`.
    """
    check_states(aggregator, store, "aggregate needs")
    return AggregateSupplier(aggregator, store, emit, execution)


def check_states(
    aggregator: Aggregator[Any, Any, Any, Any], store: StoreSpec[Any], needs: str
) -> None:
    """Check that a store can hold the states of an aggregator.

    Args:
        aggregator: The aggregator whose `state` serde the store must have.
        store: The store to check.
        needs: The beginning of the error message, such as `aggregate needs`.

    Raises:
        TopologyError: The store is not a `timestamped_store`, or has another value serde.
    """
    check_kind(store, TIMESTAMPED, needs)
    if store.value != aggregator.state:
        raise TopologyError(
            f"store {store.name!r} has the value serde {store.value.name}, but the aggregator's "
            f"state has the serde {aggregator.state.name}",
            hint="define the store with value=aggregator.state.",
        )


@checks_options
def reduce(
    function: Callable[[V, V], V],
    *,
    store: StoreSpec[TimestampedStore[K, V]],
    emit: EachUpdate | OncePerBatch = _ONCE,
    execution: Execution = "auto",
) -> AggregateSupplier[K, V, V]:
    """Combine all values of a key with a function, two at a time, and forward results.

    With execution by columns, the function is called with the same pairs of a key in the same
    order, but for one key after another.

    Args:
        function: Combines the previous result and a new value.
        store: A `timestamped_store`.
        emit: The emission of results, as for `aggregate`.
        execution: As for `aggregate`; by columns if results are emitted once per batch, and values
            are numbers, text, bools or immutable objects of a serde.

    Source: `org.apache.kafka.streams.kstream.KGroupedStream#reduce`.
    """
    aggregator = reducing(function, store.value)
    return aggregate(aggregator, store=store, emit=emit, execution=execution)


class _Aggregate(ClosureProcessor[K, V_contra, K, A_co]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(
        self,
        aggregator: Aggregator[Any, Any, Any, Any],
        store: StoreSpec[Any],
        emit: EachUpdate | OncePerBatch,
    ) -> None:
        self._aggregator = aggregator
        self._store = store
        self._emit = emit

    def bind(self, context: ProcessorContext[K, A_co]) -> Callable[[Record[K, V_contra]], None]:
        store: TimestampedRows[Any, Any] = TimestampedRows.of(context.store(self._store))
        forward: Callable[[Record[Any, Any]], None] = context.forward
        if isinstance(self._emit, OncePerBatch):
            forward = context.hold(_last_of_each(self._store.key, forward))
        drop, get, put = context.drop, store.reader(), store.writer()
        aggregator = self._aggregator
        init, add, result = aggregator.init, aggregator.add, aggregator.result

        def process(record: Record[K, V_contra]) -> None:
            key, latest = record.key, record.timestamp
            if key is None or record.value is None:
                drop("null-key" if key is None else "null-value")
                return
            before = get(key)
            if before is None:
                state = init(record)
            else:
                state, latest = add(before[0], record), max(before[1], latest)
            put(key, (state, latest))
            forward(Record(key, result(state), latest, record.headers))

        return process


def _last_of_each(
    key: Serde[Any], forward: Callable[[Record[Any, Any]], None]
) -> Callable[[Sequence[Record[Any, Any]]], None]:
    """Return a function that forwards each key's last record; keys are in order of arrival."""
    by_object, encode = key.hashes_by_bytes, key.ordered.serialize

    def release(records: Sequence[Record[Any, Any]]) -> None:
        last = {(r.key if by_object else encode(r.key)): r for r in records}
        for record in last.values():
            forward(Record(record.key, record.value, record.timestamp))

    return release
