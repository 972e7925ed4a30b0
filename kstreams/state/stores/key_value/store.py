"""The key-value store: typed, ordered, one value a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Literal

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec

__all__ = ("KeyValueStore", "TtlClock", "after_prefix")

TtlClock = Literal["stream", "wall"]
"""What a time to live is a span of."""


class KeyValueStore(Generic[K, V]):
    """A task's own part of a store: the keys of its partition.

    Reads see what this batch has put. Made by the engine from `key_value_store(...)`;
    obtained by `context.store`.

    Source: `org.apache.kafka.streams.state.KeyValueStore`; ranges end before their end.
    """

    def __init__(self, spec: StoreSpec[KeyValueStore[K, V]], overlay: Overlay) -> None:
        self._overlay = overlay.store(spec.name, spec.key, spec.value)
        self._key = spec.key.ordered
        # The two calls of the hot path, without a method in between.
        self.get = self._overlay.get  # type: ignore[assignment,method-assign]  # typed by the spec
        self.put = self._overlay.put  # type: ignore[method-assign]  # as above

    def get(self, key: K) -> V | None:
        """Return a key's value, or None when it has none."""
        return self._overlay.get(key)  # type: ignore[no-any-return]  # as above

    def get_many(self, keys: Sequence[K]) -> list[V | None]:
        """Return the values of many keys, in their order; one read of the backend."""
        return self._overlay.get_many(keys)

    def put(self, key: K, value: V | None) -> None:
        """Set a key's value; None deletes the key.

        A wrong type is a `SerializationError`, at the latest when the batch commits.
        """
        self._overlay.put(key, value)

    def put_many(self, keys: Sequence[K], values: Sequence[V | None]) -> None:
        """Set many keys' values, of equal length; of equal keys the last wins."""
        self._overlay.put_many(keys, values)

    def put_if_absent(self, key: K, value: V) -> V | None:
        """Set a value unless there is one; return the one that was there."""
        found = self.get(key)
        if found is None:
            self.put(key, value)
        return found

    def delete(self, key: K) -> V | None:
        """Delete a key; return the value it had."""
        found = self.get(key)
        if found is not None:
            self.put(key, None)
        return found

    def range(self, start: K | None = None, end: K | None = None) -> Iterator[tuple[K, V]]:
        """Yield pairs with `start <= key < end` in key order; None leaves a side open.

        Lazy; writing meanwhile is safe: keys that are new since the call are not seen.

        Raises:
            SerializationError: A bound is no key of this store.
        """
        return self._overlay.scan(*self._bounds(start, end))

    def reverse_range(self, start: K | None = None, end: K | None = None) -> Iterator[tuple[K, V]]:
        """Yield what `range` yields, from the last key to the first."""
        return self._overlay.scan(*self._bounds(start, end), reverse=True)

    def prefix_scan(self, prefix: bytes) -> Iterator[tuple[K, V]]:
        """Yield pairs whose key's bytes start with a prefix, in key order."""
        return self._overlay.scan(prefix, after_prefix(prefix))

    def approximate_count(self) -> int:
        """Return about how many keys there are."""
        return self._overlay.count()

    def _bounds(self, start: K | None, end: K | None) -> tuple[bytes | None, bytes | None]:
        return (
            None if start is None else self._key.serialize(start),
            None if end is None else self._key.serialize(end),
        )


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the first key behind all that start with a prefix; None when there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None
