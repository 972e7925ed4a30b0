"""The rows of a sliding store: the slices of a key in one row, with a timer."""

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
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.timed_rows import TimedRows

__all__ = ("Slice", "SlidingRows")


Slice = tuple[int, V]
"""The time (ms) and the value of a slice."""

_Row = tuple[int, tuple[Slice[V], ...]]
"""The time (ms) before which a key's windows are closed, and the key's slices by time."""

_TIME = struct.Struct(">q")


class SlidingRows(StoreRows, Generic[K, V]):
    """The rows of a sliding store: one row per key, with all slices of the key.

    A slice is the aggregate of all records of a key with exactly the same timestamp. Every sliding
    window consists of whole slices, so the store keeps only slices: windows need no copies of
    shared slices. A row also has the time before which its windows are closed.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        overlay: The store's write-back cache.
        value: Serde of the values.
        rebuild: Sets a key's row to the encoded row of a changelog record; None deletes the row.
        due: Returns the keys with timers at or before a time (ms), by time, then by key.
        next_timer: Returns the earliest timer (ms), or None.

    Source: departs from Kafka Streams, which keeps the windows in a `WindowStore`.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self._rows: TimedRows[K, _Row[V]] = TimedRows(name, key, _RowSerde(value), overlay)
        self.value = value
        self.overlay = self._rows.overlay
        self.rebuild: Callable[[K, bytes | None], None] = self._rows.rebuild
        self.due: Callable[[int], list[K]] = self._rows.due
        self.next_timer: Callable[[], int | None] = self._rows.next_timer

    def slices(self, key: K) -> tuple[Slice[V], ...]:
        """Return a key's slices, by time."""
        found = self._rows.get(key)
        return () if found is None else found[1][1]

    def get(self, key: K) -> tuple[int, int, tuple[Slice[V], ...]] | None:
        """Return a key's timer, closed time (both ms) and slices, or None without a row.

        Windows that end before the closed time are closed.
        """
        found = self._rows.get(key)
        return None if found is None else (found[0], *found[1])

    def scan(self, *, reverse: bool = False) -> Iterator[tuple[K, tuple[Slice[V], ...]]]:
        """Yield keys with their slices, by key."""
        for key, (_, slices) in self._rows.rows(reverse=reverse):
            yield key, slices

    def all(self) -> Iterator[tuple[K, int, tuple[Slice[V], ...]]]:
        """Yield key, closed time (ms; see `get`) and slices of each row, by key."""
        for key, (done_ms, slices) in self._rows.rows():
            yield key, done_ms, slices

    def put(self, key: K, slices: tuple[Slice[V], ...], *, done_ms: int, timer_ms: int) -> None:
        """Set a key's slices, sorted by time; without slices, delete the row.

        Args:
            key: The key.
            slices: Pairs of time (ms) and value.
            done_ms: Windows that end before this time (ms) are closed.
            timer_ms: The time (ms) from which `due` returns the key.
        """
        if slices:
            self._rows.put(key, timer_ms, (done_ms, slices))
        else:
            self._rows.delete(key)


class _RowSerde(CompositeSerde["_Row[V]"]):
    """The serde of row values: the closed time and the slices.

    Writes the closed time (int64), then for each slice a length (u32), the time (int64) and value.
    """

    type_token = tuple

    def __init__(self, value: Serde[V]) -> None:
        super().__init__("slices", value)
        self._value = value

    @override
    def serialize(self, value: _Row[V]) -> bytes:
        write = self._value.serialize
        try:
            pieces = [_TIME.pack(time) + write(content) for time, content in value[1]]
            return _TIME.pack(value[0]) + joined(pieces)
        except struct.error as exc:
            raise SerializationError(
                f"expected slices of a sliding window with int64 times, got {value!r}"
            ) from exc

    @override
    def deserialize(self, data: bytes) -> _Row[V]:
        read = self._value.deserialize
        try:
            slices = tuple((_TIME.unpack_from(p)[0], read(p[8:])) for p in divided(data[8:]))
            return _TIME.unpack_from(data)[0], slices
        except struct.error as exc:
            raise DeserializationError(
                f"the slices of a sliding window are cut short: {data[:40]!r}"
            ) from exc
