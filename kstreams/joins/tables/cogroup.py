"""A table that several inputs update, each with its own function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.change import Change
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext
from kstreams.processors.supplier import OneStoreSupplier
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("GroupUpdate",)


@dataclass(frozen=True)
class GroupUpdate(OneStoreSupplier):
    """Creates the processors of one input of a `cogroup`, and declares the shared store.

    Args:
        update: Returns the new state from the old state (None for no state) and a record; None
            deletes the state.
        store: The store of the states.

    Source: goka's `Input` with its callback; `KStream#cogroup`.
    """

    update: Callable[[Any, Record[Any, Any]], Any]
    store: StoreSpec[Any]

    def __call__(self) -> _GroupUpdate:
        """Return a new processor."""
        return _GroupUpdate(self.update, self.store)


class _GroupUpdate(ClosureProcessor[Any, Any, Any, "Change[Any]"]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(
        self, update: Callable[[Any, Record[Any, Any]], Any], store: StoreSpec[Any]
    ) -> None:
        self._update = update
        self._store = store

    def bind(
        self, context: ProcessorContext[Any, Change[Any]]
    ) -> Callable[[Record[Any, Any]], None]:
        rows: TimestampedRows[Any, Any] = TimestampedRows.of(context.store(self._store))
        drop, forward, get, put = context.drop, context.forward, rows.reader(), rows.writer()
        update = self._update

        def process(record: Record[Any, Any]) -> None:
            key, latest = record.key, record.timestamp
            if key is None:
                drop("null-key")
                return
            row = get(key)
            old = None if row is None else row[0]
            state = update(old, record)
            if row is not None:
                latest = max(row[1], latest)
            elif state is None:
                return
            put(key, None if state is None else (state, latest))
            forward(Record(key, Change(state, old), latest, record.headers))

        return process
