"""Keep the last value of each key in a store: what makes a table of a stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.change import Change
from kstreams.processors.closure import ClosureProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec

__all__ = ("Materialize",)


@dataclass(frozen=True)
class Materialize:
    """Makes the processors that put records into a table's store, and brings the store.

    A null value deletes the row. Null keys are dropped as `null-key`; rows older than a
    versioned store keeps as `older-than-retention`.

    Args:
        store: Definition of the store, of a kind that holds a table.

    Source: `org.apache.kafka.streams.kstream.internals.KTableSource`.
    """

    store: StoreSpec[Any]

    def __call__(self) -> _Materialize:
        """Return a new processor."""
        return _Materialize(self.store)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store."""
        return (self.store,)


class _Materialize(ClosureProcessor[Any, Any, Any, "Change[Any]"]):
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
