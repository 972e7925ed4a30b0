"""The key-value store: typed, ordered by key, one value per key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic

from kstreams._types import K, V
from kstreams.state.stores.key_bounds import after_prefix, key_bounds
from kstreams.state.stores.key_value.expiring import ExpiringRows
from kstreams.state.stores.key_value.rows import KeyValueRows
from kstreams.state.stores.state_store import StateStore

__all__ = ("KeyValueStore",)


class KeyValueStore(StateStore["KeyValueRows[K, V] | ExpiringRows[K, V]"], Generic[K, V]):
    """One partition of a key-value store: the part of the store that a task owns.

    Reads include the puts of the current batch. `key_value_store(...)` defines the store, and
    `context.store` returns it.

    Source: `org.apache.kafka.streams.state.KeyValueStore`; ends of ranges are exclusive.
    """

    def __init__(self, rows: KeyValueRows[K, V] | ExpiringRows[K, V]) -> None:
        super().__init__(rows)
        # The two calls of the hot path, without a method in between.
        self.get = rows.get  # type: ignore[assignment,method-assign]  # typed by the face
        self.put = rows.put  # type: ignore[assignment,method-assign]  # as above

    def get(self, key: K) -> V | None:
        """Return a key's value, or None if it has none."""
        return self._rows.get(key)

    def get_many(self, keys: Sequence[K]) -> list[V | None]:
        """Return the values of many keys, in the order of the keys.

        Without a time to live, this is one read of the backend.
        """
        return self._rows.get_many(keys)

    def put(self, key: K, value: V | None) -> None:
        """Set a key's value; None deletes the key.

        A key or value of a wrong type raises `SerializationError`, at the latest at the commit.
        """
        self._rows.put(key, value)

    def put_many(self, keys: Sequence[K], values: Sequence[V | None]) -> None:
        """Set the values of many keys; both lists have equal length. A key's last value wins."""
        self._rows.put_many(keys, values)

    def put_if_absent(self, key: K, value: V) -> V | None:
        """Set a key's value unless it has one; return the existing value, or None."""
        found = self.get(key)
        if found is None:
            self.put(key, value)
        return found

    def delete(self, key: K) -> V | None:
        """Delete a key; return its previous value, or None."""
        found = self.get(key)
        if found is not None:
            self.put(key, None)
        return found

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, V]]:
        """Yield pairs with `start <= key < end` in key order; None is unbounded.

        The iterator is lazy. Puts during the iteration are safe; new keys are not yielded.

        Args:
            start: The first key.
            end: The key to stop before.
            reverse: Whether to yield from the last key to the first.

        Raises:
            SerializationError: A bound does not have the type of the keys.
        """
        rows = self._rows
        return rows.scan(*key_bounds(rows.key, start, end), reverse=reverse)

    def prefix_scan(self, prefix: bytes, *, reverse: bool = False) -> Iterator[tuple[K, V]]:
        """Yield pairs whose key's bytes start with a prefix, in key order."""
        return self._rows.scan(prefix, after_prefix(prefix), reverse=reverse)

    def approximate_count(self) -> int:
        """Return the approximate number of keys."""
        return self._rows.approximate_count()
