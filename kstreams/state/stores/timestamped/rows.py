"""The rows of a timestamped store: one value and timestamp per key."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Generic

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.serde.stamped import StampedSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.table_columns import PresentColumns

__all__ = ("TimestampedRows",)


class TimestampedRows(StoreRows, Generic[K, V]):
    """The rows of a timestamped store: one row per key, with value and timestamp.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        overlay: The store's write-back cache.
        key: Serde of the keys, whose bytes sort like the keys.
        value: The serde of values with their timestamps.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self.key = key.ordered
        self.value = StampedSerde(value)
        self.overlay = overlay.store(name, key, self.value)

    @cached_property
    def waiting(self) -> PresentColumns:
        """The rows as a table for columnar joins, with changes that are not yet written."""
        return PresentColumns(self.overlay.get_many, self.overlay.put_many)

    def reader(self) -> Callable[[K], tuple[V, int] | None]:
        """Return a function that reads a key's value and timestamp, or None."""
        return self.overlay.get

    def writer(self) -> Callable[[K, tuple[V, int] | None], None]:
        """Return a function that sets a key's value and timestamp; None deletes the key."""
        return self.overlay.put
