"""Aggregate a stream by key into a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.aggregators.aggregator import Aggregator, aggregator_parameters
from kstreams.aggregators.columns.available import form_or_reason
from kstreams.aggregators.columns.stamped import StampedForm
from kstreams.joins.change import Change
from kstreams.joins.columns.aggregate_table import AggregateChanges, AggregateRows
from kstreams.joins.table_rows import DerivedRows, StoredRows, TableRows
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm, Output, Reason
from kstreams.processors.columns import ColumnProcessor, ColumnSource, Execution
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import OneStoreSupplier, StoreParameters
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("AggregateTable", "aggregated_rows")


def aggregated_rows(aggregator: Aggregator[Any, Any, Any, Any], store: StoreSpec[Any]) -> TableRows:
    """Return the rows of a table of results, computed from the states in a store."""
    result = aggregator.result
    return DerivedRows(StoredRows(store), lambda _, state: result(state))


@dataclass(frozen=True)
class AggregateTable(OneStoreSupplier):
    """Creates the processors of `aggregate_table`, and declares their store.

    Source: `KGroupedStream#aggregate`.
    """

    aggregator: Aggregator[Any, Any, Any, Any]
    store: StoreSpec[Any]
    execution: Execution = "auto"

    def __call__(self) -> _AggregateTable:
        """Return a new processor."""
        return _AggregateTable(self.aggregator, self.store)

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the parameters of the aggregator, on which the stored states depend."""
        return {self.store.name: aggregator_parameters(self.aggregator)}

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, which forwards changes, or only keeps states for joins."""
        need, execution = (Need.RECORDS,), self.execution
        looked_up = NodeForm(need, self._rows, output=Output.NOTHING, execution=execution)
        return NodeForm(
            need,
            self._changes,
            output=Output.CHANGES,
            execution=execution,
            looked_up=looked_up,
        )

    def _changes(self, rows: Input) -> ColumnProcessor | Reason:
        form = self._form(rows.records, object_keys=True)
        if isinstance(form, Reason):
            return form
        return AggregateChanges(form, self.store, rows.records)

    def _rows(self, rows: Input) -> ColumnProcessor | Reason:
        form = self._form(rows.records)
        return form if isinstance(form, Reason) else AggregateRows(form, self.store, rows.records)

    def _form(self, source: ColumnSource, *, object_keys: bool = False) -> StampedForm | Reason:
        """Return the column form of the aggregator, or the reason why there is none."""
        form = form_or_reason(
            self.aggregator,
            key=source.key,
            value=source.value,
            stored=self.store.key,
            objects=True,
            object_keys=object_keys,
        )
        return form if isinstance(form, Reason) else StampedForm(form)


class _AggregateTable(ClosureProcessor[Any, Any, Any, "Change[Any]"]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, aggregator: Aggregator[Any, Any, Any, Any], store: StoreSpec[Any]) -> None:
        self._aggregator = aggregator
        self._store = store

    def bind(
        self, context: ProcessorContext[Any, Change[Any]]
    ) -> Callable[[Record[Any, Any]], None]:
        rows: TimestampedRows[Any, Any] = TimestampedRows.of(context.store(self._store))
        drop, forward, get, put = context.drop, context.forward, rows.reader(), rows.writer()
        aggregator = self._aggregator
        init, add, result = aggregator.init, aggregator.add, aggregator.result

        def process(record: Record[Any, Any]) -> None:
            key, latest, old = record.key, record.timestamp, None
            if key is None or record.value is None:
                drop("null-key" if key is None else "null-value")
                return
            before = get(key)
            if before is None:
                state = init(record)
            else:
                old = result(before[0])  # before `add`, which may change the state in place
                state, latest = add(before[0], record), max(before[1], latest)
            put(key, (state, latest))
            forward(Record(key, Change(result(state), old), latest, record.headers))

        return process
