"""The read-only store of `suppress`: one record per key, released in the order of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from kstreams._types import K, V
from kstreams.record import Record
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore

__all__ = ("BufferStore", "BufferedRecord")


@dataclass(frozen=True)
class BufferedRecord(Generic[K, V]):
    """A record in a buffer.

    Attributes:
        record: The record.
        time_ms: The stream time (ms) that determines the order in which records are released.
    """

    record: Record[K, V | None]
    time_ms: int


class BufferStore(StateStore[BufferRows[K, V]], Generic[K, V]):
    """One partition of a buffer, which `buffer_store(...)` defines.

    Only `suppress` writes to the buffer.

    Source: `InMemoryTimeOrderedKeyValueChangeBuffer` of Kafka Streams; but this buffer need not fit
    into memory.
    """

    def __init__(self, spec: StoreSpec[BufferStore[K, V]], overlay: Overlay) -> None:
        super().__init__(BufferRows(spec.name, spec.key, spec.value, overlay))

    def get(self, key: K) -> BufferedRecord[K, V] | None:
        """Return a key's record, or None."""
        found = self._rows.get(key)
        return None if found is None else BufferedRecord(found[1], found[0])

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, BufferedRecord[K, V]]]:
        """Yield keys with `start <= key < end` and their records, in key order."""
        for time_ms, record in self._rows.scan(start, end, reverse=reverse):
            yield record.key, BufferedRecord(record, time_ms)

    def approximate_count(self) -> int:
        """Return the number of records."""
        return self._rows.count()
