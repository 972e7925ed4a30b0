"""The rows of a key-value store without a time to live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.state_store import StoreRows

__all__ = ("KeyValueRows",)


class KeyValueRows(StoreRows, Generic[K, V]):
    """The rows of a store whose values do not expire, one per key; see also `ExpiringRows`.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        key: Serde of the keys, whose bytes sort like the keys.
        get: Returns a key's value, or None.
        put: Sets a key's value; None deletes the key.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self.key = key.ordered
        self._overlay = overlay.store(name, key, value)
        # The two calls of the hot path, without a method in between.
        self.get: Callable[[K], V | None] = self._overlay.get
        self.put: Callable[[K, V | None], None] = self._overlay.put

    def get_many(self, keys: Sequence[K]) -> list[V | None]:
        """Return the values of many keys, in the order of the keys; reads the backend once."""
        return self._overlay.get_many(keys)

    def put_many(self, keys: Sequence[K], values: Sequence[V | None]) -> None:
        """Set the values of many keys; both lists have equal length. A key's last value wins."""
        self._overlay.put_many(keys, values)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[K, V]]:
        """Yield pairs with `start <= ordered key bytes < end`, by key."""
        return self._overlay.scan(start, end, reverse=reverse)

    def approximate_count(self) -> int:
        """Return the approximate number of rows."""
        return self._overlay.count()
