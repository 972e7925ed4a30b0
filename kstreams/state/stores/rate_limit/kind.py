"""The kind of stores of results that wait until the last one is old enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm, RowForm
from kstreams.state.stores.kind import StoreKind, Times
from kstreams.state.stores.rate_limit.store import PacedStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.waiting import WAITING_COLUMNS, WaitingResult

__all__ = ("RATE_LIMIT", "PacedKind", "paced_store")


_Live = PacedStore[Any, Any]
_Row = WaitingResult[Any, Any]


@dataclass(frozen=True)
class PacedKind(StoreKind[_Live]):
    """Results that wait until the last one is old enough, by key."""

    columns: ClassVar[tuple[str, ...]] = WAITING_COLUMNS

    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        """Return the live store."""
        return PacedStore(spec, overlay)

    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        """Return keys, and their rows as they are."""
        return RowForm(spec)

    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        """Yield all results that wait."""
        return store.fetch_all(reverse=reverse)

    def order(self, spec: StoreSpec[_Live]) -> Callable[[_Row], tuple[Any, ...]]:
        """Return key and window."""
        data = spec.key.ordered.serialize
        return lambda row: (data(row.key), row.start_ms, row.end_ms)

    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        """Yield the row as one."""
        yield row.flat()

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield a key's results that wait."""
        return (row.flat()[1:] for row in store.fetch(key))


RATE_LIMIT = PacedKind("paced")


def paced_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[PacedStore[K, V]]:
    """Define the store of a rate limit.

    Args:
        name: Unique in the topology; recorded with the state.
        key: Serde of the keys.
        value: Serde of what results are made of: the aggregator's `state`.
    """
    return StoreSpec(name, RATE_LIMIT, key, value)
