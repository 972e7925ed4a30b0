"""Keep the last value of each key in a store, which makes a stream a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.columns.keys import has_key_codes
from kstreams.joins.change import Change
from kstreams.joins.columns.materialize import MaterializeColumns
from kstreams.joins.columns.table_changes import TableChanges
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm, Output, Reason
from kstreams.processors.columns import ColumnProcessor, ColumnSource
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import OneStoreSupplier
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Materialize",)


@dataclass(frozen=True)
class Materialize(OneStoreSupplier):
    """Creates the processors that put records into a table's store, and declares the store.

    A null value deletes the row. Null keys are dropped as `null-key`, and rows older than a
    versioned store's retention as `older-than-retention`.

    Args:
        store: Definition of the store; its kind must support tables.

    Source: `org.apache.kafka.streams.kstream.internals.KTableSource`.
    """

    store: StoreSpec[Any]

    def __call__(self) -> _Materialize:
        """Return a new processor."""
        return _Materialize(self.store)

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, which forwards changes, or only stores rows for joins."""
        looked_up = NodeForm((Need.RECORDS,), self._rows, output=Output.NOTHING)
        need = Need.RECORDS | Need.COLUMNS | Need.BATCH_END
        return NodeForm((need,), self._changes, output=Output.CHANGES, looked_up=looked_up)

    def _rows(self, rows: Input) -> ColumnProcessor | Reason:
        """Return a processor that only stores rows, or the reason why there is none."""
        source = rows.records
        reason = self._encoded_reason(source)
        return MaterializeColumns(self.store, source) if reason is None else reason

    def _encoded_reason(self, source: ColumnSource) -> Reason | None:
        """Return the reason why rows cannot be stored with encoded keys; None if they can."""
        if not self.store.kind.has_table_columns:
            return f"a {self.store.kind.name} store cannot be read by columns"
        if source.key != self.store.key:
            return (
                f"keys have the serde {source.key.name}, but are stored with {self.store.key.name}"
            )
        if not has_key_codes(source.key):
            return f"equal keys of {source.key.name} may have different bytes"
        return None

    def _changes(self, rows: Input) -> ColumnProcessor | Reason:
        """Return a processor that forwards changes, or the reason why there is none."""
        kind, key, source = self.store.kind, self.store.key, rows.source
        if kind.has_history:
            return f"a {kind.name} store is updated record by record"
        if source is not None:
            reason = self._encoded_reason(source)
        elif not kind.has_table_columns:
            reason = f"a {kind.name} store cannot be read by columns"
        elif not key.ordered.hashes_by_bytes:
            reason = f"equal keys of {key.name} may have different bytes"
        else:
            reason = None
        return TableChanges(self.store, source) if reason is None else reason

    @property
    def valued_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return self.stores


class _Materialize(ClosureProcessor[Any, Any, Any, "Change[Any]"]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, store: StoreSpec[Any]) -> None:
        self._store = store

    def bind(
        self, context: ProcessorContext[Any, Change[Any]]
    ) -> Callable[[Record[Any, Any]], None]:
        put = self._store.kind.table(self._store, context.store(self._store)).put
        drop, forward = context.drop, context.forward

        def process(record: Record[Any, Any]) -> None:
            key, value, time = record.key, record.value, record.timestamp
            if key is None:
                drop("null-key")
                return
            replaced = put(key, value, time)
            if replaced is None:
                drop("older-than-retention")
                return
            old, latest = replaced
            forward(Record(key, Change(value, old, latest), time, record.headers))

        return process
