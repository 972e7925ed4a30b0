"""The versioned store: the values of keys at any time within a retention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore
from kstreams.state.stores.versioned.rows import VersionedRows

__all__ = ("VersionedKeyValueStore", "VersionedValue")


@dataclass(frozen=True)
class VersionedValue(Generic[V]):
    """A value of a key, with the time span in which it was valid.

    Args:
        value: The value.
        timestamp: The start of the validity, inclusive, ms since the Unix epoch.
        valid_to: The end of the validity, exclusive; None for the latest version.
    """

    value: V
    timestamp: int
    valid_to: int | None = None


class VersionedKeyValueStore(StateStore[VersionedRows[K, V]], Generic[K, V]):
    """One partition of a versioned store, which `versioned_key_value_store(...)` defines.

    The latest version of a key is kept forever. A replaced version can be read as long as its
    validity overlaps the retention, which reaches back from the highest timestamp ever put. Older
    versions are no longer returned, and later puts delete them gradually. Records may be out of
    order within the retention.

    Args:
        spec: The definition.
        overlay: The write-back caches of the task's stores.
        retention_ms: The retention, ms.

    Source: `org.apache.kafka.streams.state.VersionedKeyValueStore` (KIP-889, KIP-960,
    KIP-968), without segments.
    """

    def __init__(
        self, spec: StoreSpec[VersionedKeyValueStore[K, V]], overlay: Overlay, *, retention_ms: int
    ) -> None:
        rows: VersionedRows[K, V] = VersionedRows(
            spec.name, spec.key, spec.value, overlay, retention_ms=retention_ms
        )
        super().__init__(rows)

    def put(self, key: K, value: V | None, timestamp_ms: int) -> int:
        """Set the value of a key from a time on; None deletes the key from this time on.

        A version with the same time is replaced.

        Returns:
            The end of the version's validity (ms): `LATEST`, or the time of the next version;
            `NOT_PUT` if the time is older than the retention.
        """
        return self._rows.put(key, value, timestamp_ms)

    def delete(self, key: K, timestamp_ms: int) -> VersionedValue[V] | None:
        """Delete a key from a time on; return the version that was valid at this time, or None."""
        found = self.get(key, timestamp_ms)
        self.put(key, None, timestamp_ms)
        return found

    def get(self, key: K, as_of_ms: int | None = None) -> VersionedValue[V] | None:
        """Return a key's latest version, or the version valid at `as_of_ms`; None without one.

        For a time before the retention, the result is None unless the latest version was already
        valid then.
        """
        latest = self._rows.latest(key)
        if latest is None:
            return None
        timestamp, value = latest
        if as_of_ms is None or timestamp <= as_of_ms:
            return None if value is None else VersionedValue(value, timestamp)
        if as_of_ms < self._rows.horizon():
            return None
        found = self._rows.at_or_before(key, as_of_ms)
        if found is None:
            return None
        start, valid_to, old = found
        if old is None or valid_to <= as_of_ms:
            return None
        return VersionedValue(old, start, valid_to)

    def history(
        self,
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[VersionedValue[V]]:
        """Yield a key's versions that were valid at some time with `from_ms <= time <= to_ms`.

        Versions are in the order of time; `reverse` reverses the order. Deletions, and versions
        that ended before the retention, are not yielded.
        """
        horizon = self._rows.horizon()
        low = horizon if from_ms is None else max(from_ms, horizon)
        latest = self._latest_within(key, to_ms)
        if reverse:
            yield from latest
        for start, valid_to, value in self._rows.history(key, to_ms, reverse=reverse):
            if value is not None and valid_to > low:
                yield VersionedValue(value, start, valid_to)
        if not reverse:
            yield from latest

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, VersionedValue[V]]]:
        """Yield keys with `start <= key < end` and their latest versions, in key order."""
        for key, timestamp, value in self._rows.all_latest(start, end, reverse=reverse):
            if value is not None:
                yield key, VersionedValue(value, timestamp)

    def _latest_within(self, key: K, to_ms: int | None) -> list[VersionedValue[V]]:
        found = self.get(key)
        return [found] if found and (to_ms is None or found.timestamp <= to_ms) else []
