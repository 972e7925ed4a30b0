"""The rows of a key-value store whose values expire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, Literal

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.serde.stamped import StampedSerde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.timed_rows import TimedRows

__all__ = ("ExpiringRows", "TtlClock")

TtlClock = Literal["stream", "wall"]
"""The clock that measures a time to live."""


_DROPPED_A_PUT = 2


class ExpiringRows(StoreRows, Generic[K, V]):
    """The rows of a store whose values expire, one per key; has the interface of `KeyValueRows`.

    A value expires when the store's clock has advanced `ttl` beyond the value's last put. Each put
    deletes at most two expired rows, so the number of puts bounds the number of rows and no single
    batch pays for many deletions. The timers of the index are lower bounds: a row that is put
    repeatedly updates the index once per time to live.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores, with the task's times.
        ttl_ms: The time to live, ms.
        clock: The clock that measures the time to live.

    Attributes:
        key: Serde of the keys, whose bytes sort like the keys.

    Source: Spark's TTL of `transformWithState`, by either clock; Flink's `StateTtlConfig`
    with `OnCreateAndWrite` and `NeverReturnExpired`.
    """

    def __init__(
        self,
        name: str,
        key: Serde[K],
        value: Serde[V],
        overlay: Overlay,
        *,
        ttl_ms: int,
        clock: TtlClock,
    ) -> None:
        self.key = key.ordered
        self._ttl_ms = ttl_ms
        self._by_stream = clock == "stream"
        self._times_of = overlay
        self._rows: TimedRows[K, tuple[V, int]] = TimedRows(name, key, StampedSerde(value), overlay)

    def get(self, key: K) -> V | None:
        """Return a key's value, or None if it has none or the value has expired."""
        found = self._rows.get(key)
        return None if found is None or found[1][1] <= self._now() else found[1][0]

    def get_many(self, keys: Sequence[K]) -> list[V | None]:
        """Return the values of many keys, in the order of the keys."""
        return [self.get(key) for key in keys]

    def put(self, key: K, value: V | None) -> None:
        """Set a key's value, whose time to live begins now; None deletes the key."""
        now = self._now()
        if value is None:
            self._rows.delete(key)
        else:
            self.put_until(key, value, now + self._ttl_ms)
        self._drop_expired(now)

    def put_until(self, key: K, value: V, expires_ms: int) -> None:
        """Set a value that expires at `expires_ms` (since the Unix epoch) by the store's clock."""
        found = self._rows.get(key)
        timer = expires_ms if found is None else min(found[0], expires_ms)
        self._rows.put(key, timer, (value, expires_ms))

    def put_many(self, keys: Sequence[K], values: Sequence[V | None]) -> None:
        """Set the values of many keys; both lists have equal length. A key's last value wins."""
        for key, value in zip(keys, values, strict=True):
            self.put(key, value)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[K, V]]:
        """Yield unexpired pairs with `start <= ordered key bytes < end`, by key."""
        rows = self._rows.rows(start, end, reverse=reverse)
        return ((key, value) for key, (value, expires) in rows if expires > self._now())

    def approximate_count(self) -> int:
        """Return the approximate number of keys, including expired keys that still have a row."""
        return self._rows.approximate_count()

    def expiries(self) -> Iterator[tuple[K, V, int]]:
        """Yield the key, value and expiry time (ms) of each unexpired value."""
        now = self._now()
        for key, (value, expires) in self._rows.rows():
            if expires > now:
                yield key, value, expires

    def _drop_expired(self, now: int) -> None:
        for key in self._rows.due(now, _DROPPED_A_PUT):
            found = self._rows.get(key)
            if found is None:
                continue
            value, expires = found[1]
            if expires <= now:
                self._rows.delete(key)
            else:
                self._rows.put(key, expires, (value, expires))

    def _now(self) -> int:
        times = self._times_of.times
        return times.stream_time if self._by_stream else times.wall_time
