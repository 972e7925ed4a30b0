"""The timestamped store: a value and a time for each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.serde.stamped import StampedSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.entry_columns import EntryColumns
from kstreams.state.stores.spec import StoreSpec

__all__ = ("TimestampedStore",)


class TimestampedStore(Generic[K, V]):
    """A task's own part of a store of values with times; made from `timestamped_store(...)`.

    Source: `org.apache.kafka.streams.state.TimestampedKeyValueStore`.
    """

    def __init__(self, spec: StoreSpec[TimestampedStore[K, V]], overlay: Overlay) -> None:
        self._key = spec.key.ordered
        self._stamped = StampedSerde(spec.value)
        self._overlay = overlay.store(spec.name, spec.key, self._stamped)

    def get(self, key: K) -> tuple[V, int] | None:
        """Return a key's value and timestamp (ms), or None."""
        return self._overlay.get(key)  # type: ignore[no-any-return]  # typed by the spec

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Set a key's value and timestamp; None deletes the key."""
        self._overlay.put(key, None if value is None else (value, timestamp_ms))

    def columns(self) -> EntryColumns:
        """Return the same entries as columns; only for values of fixed width."""
        return EntryColumns(self._overlay, self._stamped)

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, tuple[V, int]]]:
        """Yield `(key, (value, timestamp))` with `start <= key < end`, in key order."""
        low = None if start is None else self._key.serialize(start)
        high = None if end is None else self._key.serialize(end)
        yield from self._overlay.scan(low, high, reverse=reverse)
