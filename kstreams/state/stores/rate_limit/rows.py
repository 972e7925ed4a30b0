"""The rows of `at_most_every`: the next time a key may be forwarded, and its buffered results."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import Generic

from typing_extensions import override

from kstreams._types import K, V
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.sequences import divided, joined
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffered import BufferedState, BufferedStateSerde
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.timed_rows import TimedRows

__all__ = ("RateLimitRows", "Windows")

Windows = tuple[tuple[int, int, BufferedState[V]], ...]
"""The start and end (ms) of each window, with the window's buffered state."""

_Row = tuple[int, Windows[V]]
"""The next time (ms) a key may be forwarded, and its windows that are buffered until then."""

_TIME = struct.Struct(">q")
_BOUNDS = struct.Struct(">qq")


class RateLimitRows(StoreRows, Generic[K, V]):
    """The rows of `at_most_every`: one row per recently forwarded key.

    If results of the key are held back, the row's timer is the time when the key may be forwarded
    again. Otherwise the timer is a later time, shared with other rows, at which the row is deleted.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: The serde of the aggregator's states.
        overlay: The write-back caches of the task's stores.

    Attributes:
        delete: Deletes a key's row.
        rebuild: Sets a key's row to the encoded row of a changelog record; None deletes the row.
        due: Returns the keys with timers at or before a time (ms), by time, then by key.
        next_timer: Returns the earliest timer (ms), or None.
        approximate_count: Returns the approximate number of rows.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        serde: Serde[_Row[V]] = _RowSerde(value)
        self._rows: TimedRows[K, _Row[V]] = TimedRows(name, key, serde, overlay)
        self.delete: Callable[[K], None] = self._rows.delete
        self.rebuild: Callable[[K, bytes | None], None] = self._rows.rebuild
        self.due: Callable[[int], list[K]] = self._rows.due
        self.next_timer: Callable[[], int | None] = self._rows.next_timer
        self.approximate_count: Callable[[], int] = self._rows.approximate_count

    def get(self, key: K) -> tuple[int, Windows[V]] | None:
        """Return the next time (ms) a key may be forwarded, and its buffered windows.

        Returns None if the key may be forwarded immediately.
        """
        found = self._rows.get(key)
        return None if found is None else found[1]

    def hold_back(self, key: K, free_ms: int, windows: Windows[V]) -> None:
        """Buffer at least one window until the time (ms) when the key may be forwarded again."""
        self._rows.put(key, free_ms, (free_ms, windows))

    def forwarded(self, key: K, free_ms: int, span_ms: int) -> int:
        """Set the time (ms) when a key without buffered windows may be forwarded again.

        Returns the row's timer, the time (ms) when the row is deleted. The timer is a multiple of
        `span_ms`, so that many rows are deleted at once, and the index is rarely written.
        """
        found = self._rows.get(key)
        resting = found is not None and not found[1][1] and found[0] >= free_ms
        timer = found[0] if found is not None and resting else (free_ms // span_ms + 2) * span_ms
        self._rows.put(key, timer, (free_ms, ()))
        return timer

    def scan(self, *, reverse: bool = False) -> Iterator[tuple[K, _Row[V]]]:
        """Yield all keys with their rows, by key."""
        return self._rows.rows(reverse=reverse)


class _RowSerde(CompositeSerde["_Row[V]"]):
    """The serde of row values: the next time a key may be forwarded, and its buffered windows.

    Writes the time (int64), then for each window a length (u32), start and end (int64), and state.
    """

    type_token = tuple

    def __init__(self, value: Serde[V]) -> None:
        super().__init__("rate-limit-row", value)
        self._state: Serde[BufferedState[V]] = BufferedStateSerde(value)

    @override
    def serialize(self, value: _Row[V]) -> bytes:
        write, pack = self._state.serialize, _BOUNDS.pack
        try:
            pieces = [pack(start, end) + write(item) for start, end, item in value[1]]
            return _TIME.pack(value[0]) + joined(pieces)
        except struct.error as exc:
            raise SerializationError(
                f"expected a row of a rate limit with int64 times, got {value!r}"
            ) from exc

    @override
    def deserialize(self, data: bytes) -> _Row[V]:
        read, unpack = self._state.deserialize, _BOUNDS.unpack_from
        try:
            windows = tuple((*unpack(piece), read(piece[16:])) for piece in divided(data[8:]))
            return _TIME.unpack_from(data)[0], windows
        except struct.error as exc:
            raise DeserializationError(
                f"the windows of a rate limit are cut short: {data[:40]!r}"
            ) from exc
