"""Derive a table from another table: filter and map its values in one step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.change import Change
from kstreams.joins.columns.derive import DerivedChanges, StoredDerivation
from kstreams.joins.table_rows import keeping
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm, Reason
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Derive",)


@dataclass(frozen=True)
class Derive:
    """Creates the processors of `derive`, and declares their store, if any.

    Source: `KTable#filter`, `KTable#mapValues`.
    """

    function: Callable[[Any, Any], Any]
    store: StoreSpec[Any] | None = None

    def __call__(self) -> _Derive:
        """Return a new processor."""
        return _Derive(self.function, self.store)

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, whose input is changes.

        Without a store, lookups compute the node's rows from its parent table.
        """
        is_view = self.store is None
        return NodeForm((Need.COLUMNS,), self._by_columns, follower=is_view, is_view=is_view)

    def _by_columns(self, rows: Input) -> ColumnProcessor | Reason:
        store = self.store
        if store is None:
            return DerivedChanges(self.function)
        if not store.kind.has_table_columns:
            return f"a {store.kind.name} store cannot be read by columns"
        if not store.key.ordered.hashes_by_bytes:
            return f"keys of {store.key.name} do not differ as their bytes do"
        return StoredDerivation(self.function, store)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store, if there is one."""
        return () if self.store is None else (self.store,)

    @property
    def keyed_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store, if there is one."""
        return self.stores


class _Derive(ClosureProcessor[Any, "Change[Any]", Any, "Change[Any]"]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, function: Callable[[Any, Any], Any], store: StoreSpec[Any] | None) -> None:
        self._function = function
        self._store = store

    def bind(
        self, context: ProcessorContext[Any, Change[Any]]
    ) -> Callable[[Record[Any, Change[Any]]], None]:
        function, forward = self._function, context.forward
        keep = keeping(self._store, context)

        def process(record: Record[Any, Change[Any]]) -> None:
            key, change = record.key, record.value
            new = None if change.new is None else function(key, change.new)
            old = None if change.old is None else function(key, change.old)
            if new is not None or old is not None:
                kept = keep(key, Change(new, old, change.latest), record.timestamp)
                forward(record.with_value(kept))

        return process
