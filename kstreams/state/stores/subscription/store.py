"""The subscription store: which left rows name which foreign key, for reading."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.subscription.rows import SubscriptionRows

__all__ = ("SubscriptionStore",)

KR = TypeVar("KR")
"""Type of the foreign keys."""


class SubscriptionStore(StateStore[SubscriptionRows], Generic[KR, K, V]):
    """A task's own part of the left rows of a foreign-key join; made by `join_foreign`.

    Only the join writes.

    Source: the store of `SubscriptionStoreReceiveProcessorSupplier` of Kafka Streams, which
    keeps hashes of left values where this one keeps the values.
    """

    def __init__(self, spec: StoreSpec[SubscriptionStore[KR, K, V]], overlay: Overlay) -> None:
        value: Any = spec.value
        super().__init__(SubscriptionRows(spec.name, spec.key, value, overlay))

    def fetch(self, key: KR) -> Iterator[tuple[K, V]]:
        """Yield own keys and values of the left rows that name a foreign key."""
        return self._rows.fetch(key)

    def range(
        self, start: KR | None = None, end: KR | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[KR, tuple[K, V]]]:
        """Yield foreign keys with `start <= key < end`, each with an own key and a left value."""
        return self._rows.scan(start, end, reverse=reverse)
