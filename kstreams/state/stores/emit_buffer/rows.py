"""The rows of an emit buffer: results, in the order in which they are forwarded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffered import BufferedState, BufferedStateSerde
from kstreams.state.stores.state_store import StoreRows

__all__ = ("EmitBufferRows", "Handle")

Handle = tuple[int, int, int, K]
"""The time when a result is due, the start and end of its window (all ms), and its key."""


class EmitBufferRows(StoreRows, Generic[K, V]):
    """The rows of an emit buffer: one row per result, by due time, then by window and key.

    A row's handle (`Handle`) is the tuple of due time, window start, window end and key.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: The serde of the aggregator's states.
        overlay: The write-back caches of the task's stores.

    Attributes:
        overlay: The store's write-back cache.
        key: Serde of the keys, whose bytes sort like the keys.
        value: Serde of the states.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self.key = key.ordered
        self.value = value
        self._state: Serde[BufferedState[V]] = BufferedStateSerde(value)
        self._handles = _HandleSerde(key)
        self.overlay = overlay.store(name, self._handles, self._state)
        self._low: bytes | None = None  # nothing is due before: spares walking over deletions

    def reader(self) -> Callable[[Handle[K]], BufferedState[V] | None]:
        """Return a function that returns the state of a row handle, or None without a row."""
        return self.overlay.get

    def writer(self) -> Callable[[Handle[K], BufferedState[V] | None], None]:
        """Return a function that sets the state of a row handle; None deletes the row."""
        return self.overlay.put

    def rebuild(self, handle: Handle[K], data: bytes | None) -> None:
        """Set a row to the encoded row of a changelog record; None deletes the row."""
        self.overlay.put(handle, None if data is None else self._state.deserialize(data))

    def take_until(self, time_ms: int | None) -> list[tuple[Handle[K], BufferedState[V]]]:
        """Delete and return the rows due at `time_ms` or earlier, in order; all rows for None."""
        end = None if time_ms is None else sortable_int64(time_ms + 1)
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        low = self._low
        found: list[tuple[Handle[K], BufferedState[V]]] = list(self.overlay.scan(low, end))
        if found:
            past = self._after(found[-1][0]) if end is None else end
            self.overlay.delete_range(low or b"", past)
        if end is not None and self.overlay.journal is None:  # else it may be undone
            self._low = end
        return found

    def scan(self, *, reverse: bool = False) -> Iterator[tuple[Handle[K], BufferedState[V]]]:
        """Yield all rows, in the order in which they are forwarded."""
        return self.overlay.scan(None, None, reverse=reverse)

    def bring_forward(self, due_ms: int) -> None:
        """Change the due time of all results that are due after `due_ms` to `due_ms`."""
        start = sortable_int64(due_ms + 1)
        moved = list(self.overlay.scan(start, None))
        if moved:
            self.overlay.delete_range(start, self._after(moved[-1][0]))
        for handle, state in moved:
            self.overlay.put((due_ms, *handle[1:]), state)

    def _after(self, handle: Handle[K]) -> bytes:
        return self._handles.serialize(handle) + b"\x00"


class _HandleSerde(CompositeSerde["Handle[K]"]):
    """The serde of row handles: due time, window start, window end, and key.

    Each time has 8 bytes that sort like the numbers; the key's ordered bytes follow.
    """

    type_token = tuple

    def __init__(self, key: Serde[K]) -> None:
        super().__init__("emit-buffer-key", key)
        self._key = key.ordered

    @override
    def serialize(self, value: Handle[K]) -> bytes:
        due, start, end, key = value
        heads = sortable_int64(due), sortable_int64(start), sortable_int64(end)
        return b"".join((*heads, self._key.serialize(key)))

    @override
    def deserialize(self, data: bytes) -> Handle[K]:
        due, start, end = read_int64(data), read_int64(data, 8), read_int64(data, 16)
        return due, start, end, self._key.deserialize(data[24:])
