"""The read-only subscription store: the left rows with each foreign key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic

from kstreams._types import K2, K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.subscription.rows import SubscriptionRows

__all__ = ("SubscriptionStore",)


class SubscriptionStore(StateStore[SubscriptionRows], Generic[K, K2, V]):
    """One partition of the left rows of a foreign-key join; `join_foreign` defines the store.

    Only the join writes to the store.

    Source: the store of `SubscriptionStoreReceiveProcessorSupplier` of Kafka Streams, which has
    hashes of left values instead of the values.
    """

    def __init__(self, spec: StoreSpec[SubscriptionStore[K, K2, V]], overlay: Overlay) -> None:
        value: Any = spec.value
        super().__init__(SubscriptionRows(spec.name, spec.key, value, overlay))

    def fetch(self, key: K) -> Iterator[tuple[K2, V]]:
        """Yield keys and values of the left rows with a foreign key."""
        return self._rows.fetch(key)

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, tuple[K2, V]]]:
        """Yield foreign keys with `start <= key < end`, each with an own key and a left value."""
        return self._rows.scan(start, end, reverse=reverse)
