"""The store behind sliding windows: the slices of a key in one row."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.errors import DeserializationError, SerializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.sequences import divided, joined
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.sliding.columns import SlidingColumns
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import TimedRows

__all__ = ("SlidingStore",)


_TIME = struct.Struct(">q")


class SlicesSerde(CompositeSerde["tuple[int, tuple[tuple[int, V], ...]]"]):
    """A time, and a tuple of `(time, value)`: int64, then lengths (u32), int64 and value."""

    type_token = tuple

    def __init__(self, value: Serde[V]) -> None:
        super().__init__("slices", value)
        self._value = value

    def serialize(self, value: tuple[int, tuple[tuple[int, V], ...]]) -> bytes:
        """Convert; a time that is no int64 is a `SerializationError`."""
        write = self._value.serialize
        try:
            pieces = [_TIME.pack(time) + write(content) for time, content in value[1]]
            return _TIME.pack(value[0]) + joined(pieces)
        except struct.error as exc:
            raise SerializationError(f"expected int64 times, got {value!r}") from exc

    def deserialize(self, data: bytes) -> tuple[int, tuple[tuple[int, V], ...]]:
        """Convert back; what is cut short is a `DeserializationError`."""
        read = self._value.deserialize
        try:
            slices = tuple((_TIME.unpack_from(p)[0], read(p[8:])) for p in divided(data[8:]))
            return _TIME.unpack_from(data)[0], slices
        except struct.error as exc:
            raise DeserializationError(f"slices are cut short: {data[:40]!r}") from exc


class SlidingStore(Generic[K, V]):
    """A task's own part of a store of slices; made from `sliding_store(...)`.

    A slice is the value of all records of a key at one very time. Every sliding window is
    made of whole slices, so slices are all that is kept: windows need no copies of what
    they share. Beside them a row has a time up to which its windows are done with.

    Source: departs from Kafka Streams, which keeps the windows in a `WindowStore`.
    """

    def __init__(self, spec: StoreSpec[SlidingStore[K, V]], overlay: Overlay) -> None:
        self._value = spec.value
        self._rows: TimedRows[K, tuple[int, tuple[tuple[int, V], ...]]] = TimedRows(
            spec.name, spec.key, SlicesSerde(spec.value), overlay
        )

    def slices(self, key: K) -> tuple[tuple[int, V], ...]:
        """Return `(time, value)` of a key's slices, by time (ms)."""
        found = self._rows.get(key)
        return () if found is None else found[1][1]

    def row(self, key: K) -> tuple[int, int, tuple[tuple[int, V], ...]] | None:
        """Return a key's wake time, the time up to which it is done (ms), and its slices."""
        found = self._rows.get(key)
        return None if found is None else (found[0], *found[1])

    def fetch(
        self,
        key: K,
        from_ms: int | None = None,
        to_ms: int | None = None,
        *,
        reverse: bool = False,
    ) -> Iterator[tuple[int, V]]:
        """Yield time and value of a key's slices with `from <= time < to`, in order."""
        slices = self.slices(key)
        for time, value in reversed(slices) if reverse else slices:
            if (from_ms is None or time >= from_ms) and (to_ms is None or time < to_ms):
                yield time, value

    def fetch_all(self, *, reverse: bool = False) -> Iterator[tuple[K, int, V]]:
        """Yield `(key, time, value)` of all slices, by key, then by time."""
        for key, (_, slices) in self._rows.rows(reverse=reverse):
            for time, value in reversed(slices) if reverse else slices:
                yield key, time, value

    def put(self, key: K, slices: tuple[tuple[int, V], ...], *, done_ms: int, wake_ms: int) -> None:
        """Set a key's slices, sorted by time; none at all deletes the row.

        Args:
            key: The key.
            slices: Pairs of time (ms) and value.
            done_ms: Windows that end before it are done with.
            wake_ms: When `due` finds the row.
        """
        if slices:
            self._rows.put(key, wake_ms, (done_ms, slices))
        else:
            self._rows.delete(key)

    def columns(self) -> SlidingColumns:
        """Return the same slices as columns; only for values of fixed width."""
        return SlidingColumns(self._rows.overlay, self._value)

    def rebuild(self, key: K, data: bytes | None) -> None:
        """Set or delete a row by its bytes, as a changelog has them."""
        self._rows.rebuild(key, data)

    def due(self, until_ms: int) -> list[K]:
        """Return the keys that wake at `until_ms` or before, by time, then by key."""
        return self._rows.due(until_ms)

    def next_wake(self) -> int | None:
        """Return the earliest wake time (ms), or None."""
        return self._rows.next_wake()
