"""The rows of a buffer: one record per key, and a timer for the time of its release."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic

from kstreams._types import K, V
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.kept import Kept, KeptSerde
from kstreams.state.stores.key_bounds import key_bounds
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.timed_rows import TimedRows

__all__ = ("BufferRows",)


class BufferRows(StoreRows, Generic[K, V]):
    """The rows of the buffer of `suppress`: one row for each key with a buffered record.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        next_timer: Returns the earliest release time (ms) of all records, or None without records.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        row: Serde[Kept] = KeptSerde(value)
        self._rows: TimedRows[K, Kept] = TimedRows(name, key, row, overlay)
        self._key, self._row = key.ordered, row
        self._measures = False
        self.next_timer: Callable[[], int | None] = self._rows.next_timer

    def count(self) -> int:
        """Return the number of records."""
        return self._rows.number()

    def recount(self) -> None:
        """Count all records again, after rows were written as bytes; bytes are not counted."""
        self._rows.set_number(sum(1 for _ in self._rows.rows()))
        self._rows.set_size(None)

    def measure(self, *, wanted: bool) -> None:
        """Start or stop counting the bytes of the buffer.

        The first call with `wanted` reads all rows once, if their bytes were not counted before.
        """
        self._measures = wanted
        if wanted and self._rows.size() is None:
            self._rows.set_size(sum(self._bytes(key, row) for key, row in self._rows.rows()))
        elif not wanted and self._rows.size() is not None:
            self._rows.set_size(None)

    def size_bytes(self) -> int:
        """Return the size of all encoded keys and records, in bytes; 0 if `measure` is off."""
        return self._rows.size() or 0

    def get(self, key: K) -> tuple[int, Record[K, V | None]] | None:
        """Return the release time (ms) and the record of a key, or None without a record."""
        found = self._rows.get(key)
        return None if found is None else (found[0], _record(key, found[1]))

    def scan(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[int, Record[K, V | None]]]:
        """Yield the results of `get` for keys with `start <= key < end`, by key."""
        low, high = key_bounds(self._key, start, end)
        for key, time_ms, row in self._rows.timed(low, high, reverse=reverse):
            yield time_ms, _record(key, row)

    def put(self, record: Record[K, V | None], time_ms: int) -> int:
        """Store a record as the only record of its key, and return its release time (ms).

        Args:
            record: The record.
            time_ms: The release time (ms) if the key has no record yet. A record that replaces
                another record gets the release time of that record.
        """
        found = self._rows.get(record.key)
        row = (record.value, record.timestamp, record.headers)
        if found is None:
            self._rows.set_number(self.count() + 1)
        else:
            time_ms = found[0]
        self._weigh(record.key, row, found)
        self._rows.put(record.key, time_ms, row)
        return time_ms

    def delete(self, key: K) -> None:
        """Delete a key's record; a missing record is no error."""
        found = self._rows.get(key)
        if found is not None:
            self._rows.set_number(self.count() - 1)
            self._weigh(key, None, found)
            self._rows.delete(key)

    def rebuild(self, key: K, data: bytes | None) -> None:
        """Set a key's row to the encoded row of a changelog record; None deletes the row."""
        self.delete(key)
        if data is not None:
            self._rows.rebuild(key, data)
            self._rows.set_number(self.count() + 1)

    def take_until(self, time_ms: int) -> list[Record[K, V | None]]:
        """Delete and return the records with release times up to `time_ms`, in this order."""
        return [self._take(key) for key in self._rows.due(time_ms)]

    def take_first(self) -> Record[K, V | None] | None:
        """Delete and return the record with the earliest release time, or None without records."""
        first = self._rows.first()
        return None if first is None else self._take(first)

    def _weigh(self, key: K, row: Kept | None, before: tuple[int, Kept] | None) -> None:
        if self._measures:
            added = 0 if row is None else self._bytes(key, row)
            gone = 0 if before is None else self._bytes(key, before[1])
            self._rows.set_size(self.size_bytes() + added - gone)

    def _bytes(self, key: K, row: Kept) -> int:
        return len(self._key.serialize(key)) + len(self._row.serialize(row))

    def _take(self, key: K) -> Record[K, V | None]:
        found = self._rows.get(key)
        if found is None:
            raise KeyError(key)
        self.delete(key)
        return _record(key, found[1])


def _record(key: Any, row: Kept) -> Record[Any, Any]:  # noqa: ANN401  # erased types
    value, timestamp, headers = row
    return Record(key, value, timestamp, headers)
