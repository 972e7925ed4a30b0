"""The timestamped store: one value with a timestamp per key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.key_bounds import after_prefix, key_bounds
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("TimestampedStore",)


class TimestampedStore(StateStore[TimestampedRows[K, V]], Generic[K, V]):
    """One partition of a timestamped store, which `timestamped_store(...)` defines.

    Reads return pairs of value and timestamp (ms since the Unix epoch), and include the puts of
    the current batch.

    Source: `org.apache.kafka.streams.state.TimestampedKeyValueStore`.
    """

    def __init__(self, spec: StoreSpec[TimestampedStore[K, V]], overlay: Overlay) -> None:
        rows: TimestampedRows[K, V] = TimestampedRows(spec.name, spec.key, spec.value, overlay)
        super().__init__(rows)
        self._key = rows.key
        self._overlay = rows.overlay

    def get(self, key: K) -> tuple[V, int] | None:
        """Return a key's value and timestamp, or None if it has none."""
        return self._overlay.get(key)  # type: ignore[no-any-return]  # typed by the spec

    def get_many(self, keys: Sequence[K]) -> list[tuple[V, int] | None]:
        """Return the results of `get` for many keys, in their order; reads the backend once."""
        return self._overlay.get_many(keys)

    def put(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Set a key's value and timestamp; None deletes the key.

        A key or value of a wrong type raises `SerializationError`, at the latest at the commit.
        """
        self._overlay.put(key, None if value is None else (value, timestamp_ms))

    def put_many(
        self, keys: Sequence[K], values: Sequence[V | None], timestamps_ms: Sequence[int]
    ) -> None:
        """Set many keys; all sequences have equal length. A key's last value wins."""
        pairs = zip(values, timestamps_ms, strict=True)
        rows = [None if value is None else (value, time) for value, time in pairs]
        self._overlay.put_many(keys, rows)

    def put_if_absent(self, key: K, value: V, timestamp_ms: int) -> tuple[V, int] | None:
        """Set a key's value unless it has one; return the existing value and time, or None."""
        found = self.get(key)
        if found is None:
            self.put(key, value, timestamp_ms)
        return found

    def delete(self, key: K) -> tuple[V, int] | None:
        """Delete a key; return its previous value and timestamp, or None."""
        found = self.get(key)
        if found is not None:
            self._overlay.put(key, None)
        return found

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, tuple[V, int]]]:
        """Yield pairs with `start <= key < end` in key order; None is unbounded.

        The iterator is lazy. Puts during the iteration are safe; new keys are not yielded.

        Raises:
            SerializationError: A bound does not have the type of the keys.
        """
        return self._overlay.scan(*key_bounds(self._key, start, end), reverse=reverse)

    def prefix_scan(
        self, prefix: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[K, tuple[V, int]]]:
        """Yield pairs whose key's bytes start with a prefix, in key order."""
        return self._overlay.scan(prefix, after_prefix(prefix), reverse=reverse)

    def approximate_count(self) -> int:
        """Return the approximate number of keys."""
        return self._overlay.count()
