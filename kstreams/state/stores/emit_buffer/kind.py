"""The kind of stores of results that wait for the next interval."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.emit_buffer.changelog import PendingForm
from kstreams.state.stores.emit_buffer.store import PendingStore
from kstreams.state.stores.kind import StoreKind, Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.waiting import WAITING_COLUMNS, WaitingResult

__all__ = ("EMIT_BUFFER", "PendingKind", "pending_store")


_Live = PendingStore[Any, Any]
_Row = WaitingResult[Any, Any]


@dataclass(frozen=True)
class PendingKind(StoreKind[_Live]):
    """Results that wait for the next interval, by the time when they are due."""

    columns: ClassVar[tuple[str, ...]] = WAITING_COLUMNS

    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        """Return the live store."""
        return PendingStore(spec, overlay)

    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        """Return a record for each result."""
        return PendingForm(spec)

    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        """Yield all results that wait."""
        return store.fetch_all(reverse=reverse)

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[Any, ...]]:
        """Return due time, window and key."""
        data = spec.key.ordered.serialize
        return lambda row: (row.due_ms, row.start_ms, row.end_ms, data(row.key))

    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        """Yield the row as one."""
        yield row.flat()

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield a key's results that wait."""
        return (row.flat()[1:] for row in store.fetch(key))


EMIT_BUFFER = PendingKind("pending")


def pending_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[PendingStore[K, V]]:
    """Define a store of waiting results.

    Args:
        name: Unique in the topology; recorded with the state.
        key: Serde of the keys.
        value: Serde of what results are made of: the aggregator's `state`.
    """
    return StoreSpec(name, EMIT_BUFFER, key, value)
