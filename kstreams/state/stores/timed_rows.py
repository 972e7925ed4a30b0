"""Rows with timers, by key, and an index that finds the rows whose timers are due."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from typing_extensions import override

from kstreams._types import K
from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.state.cache.overlay import Overlay
from kstreams.times import BEFORE_ALL_MS

__all__ = ("ROW", "SIZE", "TIMER", "TimedRows", "key_of_timed_row", "row_of")

P = TypeVar("P")
"""The type of a row's payload."""

TIMER, ROW, _NUMBER = b"\x00", b"\x01", b"\x02"
"""The first bytes of the keys of index entries, rows, and numbers."""
_SIZE = _NUMBER + b"\x01"
SIZE: tuple[Any, ...] = (None, None, None)
"""The key of the entry with the size, see `TimedRows.size`."""


class TimedRows(Generic[K, P]):
    """One row for each key, with a timer (ms) and a payload, and an index of rows by their timers.

    A timer is the time at which `due` returns the row. The store has several kinds of keys:
    `(key,)` is the key of a row, and `(timer, key)` of an index entry without a value. The values
    of `()` and `SIZE` are numbers that the caller may use freely. A payload can change without a
    write to the index, because a timer may be earlier than necessary. So updates of a growing
    session are cheap.

    Args:
        name: The store's name.
        key: Serde of the keys.
        payload: Serde of the payloads.
        overlay: The write-back caches of the task's stores.

    Attributes:
        overlay: The store's write-back cache.
    """

    def __init__(self, name: str, key: Serde[K], payload: Serde[P], overlay: Overlay) -> None:
        self._keys = _KeySerde(key)
        self._serde: Serde[Any] = _RowSerde(payload)
        self.overlay = self._store = overlay.store(name, self._keys, self._serde)
        self._low: int = BEFORE_ALL_MS  # no timer is before it: spares walking over deleted entries

    def get(self, key: K) -> tuple[int, P] | None:
        """Return a row's timer (ms) and payload, or None."""
        return self._store.get((key,))  # type: ignore[no-any-return]  # erased by the overlay

    def put(self, key: K, timer_ms: int, payload: P) -> None:
        """Set a row and its timer (ms)."""
        self.replace(key, self._store.get((key,)), timer_ms, payload)

    def replace(self, key: K, found: tuple[int, P] | None, timer_ms: int, payload: P) -> None:
        """Set a row as `put` does, given the result `found` of an immediately preceding `get`."""
        if found is None or found[0] != timer_ms:
            if found is not None:
                self._store.put((found[0], key), None)
            self._store.put((timer_ms, key), ())
            self._low = min(self._low, timer_ms)
        self._store.put((key,), (timer_ms, payload))

    def delete(self, key: K) -> None:
        """Delete a row; a missing row is no error."""
        found = self._store.get((key,))
        if found is not None:
            self._store.put((found[0], key), None)
            self._store.put((key,), None)

    def rebuild(self, key: K, data: bytes | None) -> None:
        """Set a row to the encoded row of a changelog record; None deletes the row.

        Raises:
            DeserializationError: The bytes are not an encoded row.
        """
        if data is None:
            self.delete(key)
        else:
            self.put(key, *self._serde.deserialize(ROW + data))

    def due(self, until_ms: int, limit: int | None = None) -> list[K]:
        """Return the keys with timers at or before `until_ms`, by time, then by key.

        Their index entries are deleted: the caller must put the rows with later timers, or delete
        the rows.

        Args:
            until_ms: The time, ms since the Unix epoch.
            limit: The maximum number of keys; all by default.
        """
        if until_ms < self._low:
            return []
        found = list(islice(self._index(until_ms + 1), limit))
        whole = limit is None or len(found) < limit
        if found:
            start = TIMER + sortable_int64(self._low)
            last = TIMER + sortable_int64(until_ms + 1) if whole else self._after(found[-1])
            self._store.delete_range(start, last)
        if self._store.journal is None:  # else what follows may be undone
            self._low = max(self._low, until_ms + 1 if whole else found[-1][0])
        return [key for _, key in found]

    def _after(self, entry: tuple[int, K]) -> bytes:
        return self._keys.serialize(entry) + b"\x00"

    def next_timer(self) -> int | None:
        """Return the earliest timer (ms), or None."""
        found = self._first()
        return None if found is None else found[0]

    def first(self) -> K | None:
        """Return the key of the earliest timer, or None."""
        found = self._first()
        return None if found is None else found[1]

    def _first(self) -> tuple[int, K] | None:
        """Return the first index entry, or None.

        The search uses growing spans, because the overlay copies its part of each span.
        """
        for span in (1 << 8, 1 << 14, 1 << 20):
            found = next(self._index(self._low + span), None)
            if found is not None:
                return found
        return next(self._index(None), None)

    def _index(self, end_ms: int | None) -> Iterator[tuple[int, K]]:
        start = TIMER + sortable_int64(self._low)
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        end = ROW if end_ms is None else TIMER + sortable_int64(end_ms)
        for entry, _ in self._store.scan(start, end):
            yield entry

    def rows(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, P]]:
        """Yield key and payload of all rows with `start <= ordered key bytes < end`, by key."""
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        low = ROW if start is None else ROW + start
        high = _NUMBER if end is None else ROW + end
        for (key,), (_, payload) in self._store.scan(low, high, reverse=reverse):
            yield key, payload

    def timed(
        self, start: bytes | None = None, end: bytes | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, int, P]]:
        """Yield the rows of `rows` with their timers: key, timer (ms) and payload."""
        low = ROW if start is None else ROW + start
        high = _NUMBER if end is None else ROW + end
        for (key,), (timer_ms, payload) in self._store.scan(low, high, reverse=reverse):
            yield key, timer_ms, payload

    def approximate_count(self) -> int:
        """Return the approximate number of rows: each row has one index entry."""
        return self._store.count() // 2

    def number(self) -> int:
        """Return the number that `set_number` last stored, or 0."""
        found = self._store.get(())
        return 0 if found is None else found[0]

    def set_number(self, number: int) -> None:
        """Store a number with the rows; the caller decides its meaning."""
        self._store.put((), (number,))

    def size(self) -> int | None:
        """Return the size that `set_size` last stored, or None."""
        found = self._store.get(SIZE)
        return None if found is None else found[0]

    def set_size(self, size: int | None) -> None:
        """Store a size with the rows; the caller decides its meaning. None removes the size."""
        self._store.put(SIZE, None if size is None else (size,))


def key_of_timed_row(row: bytes) -> bytes | None:
    """Return the ordered key of the encoded key of a row or index entry; None for a number."""
    if row[:1] == ROW:
        return row[1:]
    return row[9:] if row[:1] == TIMER else None


def row_of(key: bytes, value: bytes | None) -> tuple[bytes, bytes | None] | None:
    """Return ordered key and payload of an encoded row; None for index entries and numbers."""
    if key[:1] != ROW:
        return None
    return key[1:], None if value is None else value[9:]


class _KeySerde(CompositeSerde[Any]):
    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("timed-key", key)
        self._key = key.ordered

    def serialize(self, value: tuple[Any, ...]) -> bytes:
        """Encode a key: `(key,)` of a row, `(timer, key)` of an index entry, or `()` or `SIZE`."""
        if not value:
            return _NUMBER
        if value == SIZE:
            return _SIZE
        data = self._key.serialize(value[-1])
        return ROW + data if len(value) == 1 else TIMER + sortable_int64(value[0]) + data

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        if data[:1] == ROW:
            return (self._key.deserialize(data[1:]),)
        if data == _NUMBER:
            return ()
        if data == _SIZE:
            return SIZE
        if data[:1] != TIMER:
            raise DeserializationError(
                f"expected the key of a row or of an index entry of a store, got {data[:40]!r}"
            )
        return read_int64(data, 1), self._key.deserialize(data[9:])


class _RowSerde(CompositeSerde[Any]):
    """The serde of values: timer and payload of a row, a number, or `()` in the index."""

    type_token = tuple

    def __init__(self, payload: Serde[Any]) -> None:
        super().__init__("timed-row", payload)
        self._payload = payload

    @override
    def serialize(self, value: tuple[Any, ...]) -> bytes:
        if not value:
            return b""
        if len(value) == 1:
            return _NUMBER + sortable_int64(value[0])
        return ROW + sortable_int64(value[0]) + self._payload.serialize(value[1])

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        if not data:
            return ()
        number = read_int64(data, 1)
        return (number,) if data[:1] == _NUMBER else (number, self._payload.deserialize(data[9:]))
