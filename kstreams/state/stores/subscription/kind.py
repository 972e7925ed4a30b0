"""The kind of subscription stores, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K2, K, V
from kstreams.serde.base import Serde
from kstreams.serde.composite import TupleSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import Content, StoreKind, Times
from kstreams.state.stores.prefix_free import read_prefix_free
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.subscription.changelog import SubscriptionForm
from kstreams.state.stores.subscription.rows import SubscriptionRows
from kstreams.state.stores.subscription.store import SubscriptionStore

__all__ = ("SUBSCRIPTION", "SubscriptionKind", "subscription_store")


_Live = SubscriptionStore[Any, Any, Any]
_Row = tuple[Any, tuple[Any, Any]]
"""A foreign key, with the key and the value of a left row."""


@dataclass(frozen=True)
class SubscriptionKind(StoreKind[_Live]):
    """The kind of stores with left rows, ordered by foreign key, then by the left row's key."""

    columns: ClassVar[tuple[str, ...]] = ("key", "value")
    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return SubscriptionStore(spec, overlay)

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return read_prefix_free(row)[0]

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return SubscriptionForm(spec)

    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        """Yield foreign keys, each with the key and value of a left row."""
        return store.range(start, end, reverse=reverse)

    @override
    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        return ((pair,) for pair in store.fetch(key))

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield foreign keys, each with the key and value of a left row."""
        for key, pair in self.open(spec, overlay).range():
            yield Content(key, pair)

    @override
    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        put = SubscriptionRows.of(self.open(spec, overlay)).set
        return lambda content: put(content.key, *content.value)


SUBSCRIPTION = SubscriptionKind("subscription")


def subscription_store(
    name: str, *, foreign: Serde[K], key: Serde[K2], value: Serde[V]
) -> StoreSpec[SubscriptionStore[K, K2, V]]:
    """Define the store of left rows of `join_foreign`, for reading the store in a view.

    Args:
        name: The store's name: the name of the store of the join's results, with `-entered`.
        foreign: Serde of the foreign keys.
        key: Serde of the left table's keys.
        value: Serde of the left table's values.
    """
    return StoreSpec(name, SUBSCRIPTION, foreign, TupleSerde(key, value))
