"""The read-only queue: records in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.record import Record
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.queue.rows import QueueRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore

__all__ = ("QueueStore",)


class QueueStore(StateStore[QueueRows[K, V]], Generic[K, V]):
    """One partition of the waiting records of `join_as_of`; `queue_store(...)` defines the store.

    A key can have any number of records, in the order of time. Only `join_as_of` writes to the
    store.

    Source: `RocksDBTimeOrderedKeyValueBuffer` of Kafka Streams' joins with a grace.
    """

    def __init__(self, spec: StoreSpec[QueueStore[K, V]], overlay: Overlay) -> None:
        super().__init__(QueueRows(spec.name, spec.key, spec.value, overlay))

    def fetch(
        self,
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[tuple[K, Record[K, V]]]:
        """Yield a key's records with `from_ms <= time <= to_ms`, by time; scans all keys."""
        encode = self._rows.key.serialize
        place = encode(key)
        for own, record in self.fetch_all(from_ms, to_ms, reverse=reverse):
            if encode(own) == place:
                yield own, record

    def fetch_all(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, Record[K, V]]]:
        """Yield records with `from_ms <= time <= to_ms`, by time; None is unbounded."""
        for record in self._rows.scan(from_ms, to_ms, reverse=reverse):
            yield record.key, record
