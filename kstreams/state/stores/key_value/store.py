"""The key-value store: typed, ordered, one value a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, Literal

from kstreams._types import K, V
from kstreams.clock import to_ms
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec

__all__ = ("ExpiringFactory", "KeyValueStore", "TtlClock", "after_prefix", "key_value_store")

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


def key_value_store(
    name: str,
    *,
    key: Serde[K],
    value: Serde[V],
    ttl: timedelta | None = None,
    ttl_clock: TtlClock = "stream",
) -> StoreSpec[KeyValueStore[K, V]]:
    """Define a key-value store.

    Args:
        name: Unique in the topology; recorded with the state.
        key: Serde of the keys. Ranges follow the order of its `ordered` bytes.
        value: Serde of the values.
        ttl: How long a value lives from its last put on; None for ever. What has expired is
            hidden at once, and deleted bit by bit as other values are put. Another span
            holds for what is put from then on.
        ttl_clock: Whether the span is one of stream time, which stands still without
            records, or of the recorded wall time of batches. That is believed as it is: while
            the clock is ahead values are hidden before their time, and what is put then
            stays until its own, or until it is put again.

    Raises:
        ValueError: The span is under a millisecond.
    """
    if ttl is not None:
        if to_ms(ttl) < 1:
            raise ValueError(f"a ttl is at least 1 ms, not {ttl}")
        expiring: Any = ExpiringFactory(to_ms(ttl), ttl_clock)
        return StoreSpec(name, f"key-value-ttl-{ttl_clock}", key, value, expiring)
    factory: Any = KeyValueStore
    return StoreSpec(name, "key-value", key, value, factory)


@dataclass(frozen=True)
class ExpiringFactory:
    """Makes key-value stores whose values expire.

    Args:
        ttl_ms: How long values live.
        clock: By which clock.
    """

    ttl_ms: int
    clock: TtlClock

    def __call__(self, spec: StoreSpec[Any], overlay: Overlay) -> KeyValueStore[Any, Any]:
        """Make the live form."""
        from kstreams.state.stores.key_value.expiring import ExpiringStore  # noqa: PLC0415  # derives from ours

        return ExpiringStore(spec, overlay, ttl_ms=self.ttl_ms, clock=self.clock)
