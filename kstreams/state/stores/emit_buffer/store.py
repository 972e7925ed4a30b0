"""The store of results that wait for the next interval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.emit_buffer.columns import PendingColumns
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.waiting import Waiting, WaitingResult, WaitingSerde

__all__ = ("Handle", "PendingStore")


Handle = tuple[int, int, int, K]
"""When a result is forwarded, start and end of its window (all ms), and its key."""


class _HandleSerde(CompositeSerde["Handle[K]"]):
    """Three times that sort as numbers do, 8 bytes each, then the key's ordered bytes."""

    type_token = tuple

    def __init__(self, key: Serde[K]) -> None:
        super().__init__("pending-key", key)
        self._key = key.ordered

    def serialize(self, value: Handle[K]) -> bytes:
        """Convert."""
        due, start, end, key = value
        heads = sortable_int64(due), sortable_int64(start), sortable_int64(end)
        return b"".join((*heads, self._key.serialize(key)))

    def deserialize(self, data: bytes) -> Handle[K]:
        """Convert back."""
        due, start, end = read_int64(data), read_int64(data, 8), read_int64(data, 16)
        return due, start, end, self._key.deserialize(data[24:])


class PendingStore(Generic[K, V]):
    """A task's own part of a store of waiting results; made from `pending_store(...)`.

    Entries lie in the order in which they are forwarded: by time, then by window and key.
    """

    def __init__(self, spec: StoreSpec[PendingStore[K, V]], overlay: Overlay) -> None:
        self._value = spec.value
        self._key = spec.key
        self._waiting: Serde[Waiting[V]] = WaitingSerde(spec.value)
        self._handles = _HandleSerde(spec.key)
        self._overlay = overlay.store(spec.name, self._handles, self._waiting)
        self._low: bytes | None = None  # nothing is due before: spares walking over deletions

    def get(self, handle: Handle[K]) -> Waiting[V] | None:
        """Return what waits under a handle, or None."""
        return self._overlay.get(handle)  # type: ignore[no-any-return]  # the spec's types

    def put(self, handle: Handle[K], waiting: Waiting[V] | None) -> None:
        """Set what waits under a handle; None deletes it."""
        self._overlay.put(handle, waiting)

    def rebuild(self, handle: Handle[K], data: bytes | None) -> None:
        """Set or delete an entry by its bytes, as a changelog has them."""
        self._overlay.put(handle, None if data is None else self._waiting.deserialize(data))

    def take_until(self, time_ms: int | None) -> list[tuple[Handle[K], Waiting[V]]]:
        """Take out what is due at a time (ms) or before, in order; None is all there is."""
        end = None if time_ms is None else sortable_int64(time_ms + 1)
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        low = self._low
        found: list[tuple[Handle[K], Waiting[V]]] = list(self._overlay.scan(low, end))
        if found:
            past = self._after(found[-1][0]) if end is None else end
            self._overlay.delete_range(low or b"", past)
        if end is not None and self._overlay.journal is None:  # else it may be undone
            self._low = end
        return found

    def fetch(self, key: K, *, reverse: bool = False) -> Iterator[WaitingResult[K, V]]:
        """Yield a key's results that wait; looks at all that there are."""
        place = self._key.ordered.serialize(key)
        for result in self.fetch_all(reverse=reverse):
            if self._key.ordered.serialize(result.key) == place:
                yield result

    def fetch_all(self, *, reverse: bool = False) -> Iterator[WaitingResult[K, V]]:
        """Yield all results that wait, in the order in which they are forwarded."""
        for (due, start, end, key), item in self._overlay.scan(None, None, reverse=reverse):
            yield WaitingResult(key, start, end, due, item.value, item.time_ms)

    def bring_forward(self, due_ms: int) -> None:
        """Let nothing wait beyond a time (ms): what did is due then."""
        start = sortable_int64(due_ms + 1)
        moved = list(self._overlay.scan(start, None))
        if moved:
            self._overlay.delete_range(start, self._after(moved[-1][0]))
        for handle, waiting in moved:
            self._overlay.put((due_ms, *handle[1:]), waiting)

    def _after(self, handle: Handle[K]) -> bytes:
        return self._handles.serialize(handle) + b"\x00"

    def columns(self) -> PendingColumns:
        """Return the same entries as columns; only for values of fixed width."""
        return PendingColumns(self._overlay, self._key, self._value)
