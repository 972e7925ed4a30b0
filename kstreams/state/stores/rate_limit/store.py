"""The store of a rate limit: when each key was last forwarded, and what waits since."""

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
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import TimedRows
from kstreams.state.stores.waiting import Waiting, WaitingResult, WaitingSerde

__all__ = ("PacedStore", "Windows")


Windows = tuple[tuple[int, int, Waiting[V]], ...]
"""Start and end (ms) of windows, and what waits for each."""

_TIME = struct.Struct(">q")
_BOUNDS = struct.Struct(">qq")


_Row = tuple[int, Windows[V]]


class _RowSerde(CompositeSerde["_Row[V]"]):
    """A time, and windows with what waits: int64; lengths (u32), two int64 and the entry."""

    type_token = tuple

    def __init__(self, value: Serde[V]) -> None:
        super().__init__("paced", value)
        self._waiting: Serde[Waiting[V]] = WaitingSerde(value)

    def serialize(self, value: _Row[V]) -> bytes:
        """Convert; a time that is no int64 is a `SerializationError`."""
        write, pack = self._waiting.serialize, _BOUNDS.pack
        try:
            pieces = [pack(start, end) + write(item) for start, end, item in value[1]]
            return _TIME.pack(value[0]) + joined(pieces)
        except struct.error as exc:
            raise SerializationError(f"expected int64 times, got {value!r}") from exc

    def deserialize(self, data: bytes) -> _Row[V]:
        """Convert back; what is cut short is a `DeserializationError`."""
        read, unpack = self._waiting.deserialize, _BOUNDS.unpack_from
        try:
            windows = tuple((*unpack(piece), read(piece[16:])) for piece in divided(data[8:]))
            return _TIME.unpack_from(data)[0], windows
        except struct.error as exc:
            raise DeserializationError(f"windows are cut short: {data[:40]!r}") from exc


class PacedStore(Generic[K, V]):
    """A task's own part of the store of a rate limit; made from `paced_store(...)`.

    A row says from when on its key may be forwarded again. It is due then if something
    waits; else some while later, with many others, to be deleted.
    """

    def __init__(self, spec: StoreSpec[PacedStore[K, V]], overlay: Overlay) -> None:
        serde: Serde[_Row[V]] = _RowSerde(spec.value)
        self._rows: TimedRows[K, _Row[V]] = TimedRows(spec.name, spec.key, serde, overlay)

    def get(self, key: K) -> tuple[int, Windows[V]] | None:
        """Return when a key may be forwarded again (ms), and what waits; None if at once."""
        found = self._rows.get(key)
        return None if found is None else found[1]

    def wait(self, key: K, free_ms: int, windows: Windows[V]) -> None:
        """Let windows wait, one or more, until a key may be forwarded again (ms)."""
        self._rows.put(key, free_ms, (free_ms, windows))

    def rest(self, key: K, free_ms: int, span_ms: int) -> int:
        """Note when a key may be forwarded again (ms), with nothing that waits.

        The row is due at a multiple of `span_ms`, so that many are at once, and its index
        is seldom written. Returns that time, ms.
        """
        found = self._rows.get(key)
        resting = found is not None and not found[1][1] and found[0] >= free_ms
        due = found[0] if found is not None and resting else (free_ms // span_ms + 2) * span_ms
        self._rows.put(key, due, (free_ms, ()))
        return due

    def delete(self, key: K) -> None:
        """Delete a key's row."""
        self._rows.delete(key)

    def rebuild(self, key: K, data: bytes | None) -> None:
        """Set or delete a row by its bytes, as a changelog has them."""
        self._rows.rebuild(key, data)

    def due(self, time_ms: int) -> list[K]:
        """Return the keys of rows that are due at a time (ms), by time, then by key."""
        return self._rows.due(time_ms)

    def next_due(self) -> int | None:
        """Return when the first row is due, ms, or None without any."""
        return self._rows.next_wake()

    def all_waiting(self) -> list[tuple[K, Windows[V]]]:
        """Return what waits, by key."""
        return [(key, windows) for key, (_, windows) in self._rows.rows() if windows]

    def fetch(self, key: K, *, reverse: bool = False) -> Iterator[WaitingResult[K, V]]:
        """Yield a key's results that wait, by window."""
        found = self.get(key)
        if found is not None:
            yield from _results(key, found, reverse=reverse)

    def fetch_all(self, *, reverse: bool = False) -> Iterator[WaitingResult[K, V]]:
        """Yield all results that wait, by key, then by window."""
        for key, found in self._rows.rows(reverse=reverse):
            yield from _results(key, found, reverse=reverse)

    def approximate_count(self) -> int:
        """Return about how many rows there are."""
        return self._rows.approximate_count()


def _results(key: K, row: _Row[V], *, reverse: bool) -> Iterator[WaitingResult[K, V]]:
    due_ms, windows = row
    for start, end, item in reversed(windows) if reverse else windows:
        yield WaitingResult(key, start, end, due_ms, item.value, item.time_ms)
