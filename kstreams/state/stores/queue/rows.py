"""The rows of a queue: records in the order of time, any number per key."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final, Generic, NamedTuple

from typing_extensions import override

from kstreams._types import K, V
from kstreams.errors import DeserializationError
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.kept import KeptSerde
from kstreams.state.stores.key_bounds import after_prefix
from kstreams.state.stores.state_store import StoreRows
from kstreams.times import FAR_MS

__all__ = ("NO_PROGRESS", "QUEUED", "Progress", "QueueRows", "Queued")

QUEUED = b"\x01"
"""The first byte of the row keys and values of records."""

_NUMBERS: Final = (0,)
"""The key of the row that holds the queue's `Progress`."""
_THREE = struct.Struct(">qqq")


class Progress(NamedTuple):
    """The newest and released times of a queue, ms, and the next record number.

    Attributes:
        newest: The time of the newest record that was put.
        number: The number of the next record.
        released: Records up to this time have been released.
    """

    newest: int
    number: int
    released: int


NO_PROGRESS: Final = Progress(-FAR_MS, 0, -FAR_MS)
"""The progress of a queue before its first record."""


class Queued(NamedTuple):
    """The position of a record: its time (ms), its number and its key."""

    time: int
    number: int
    key: Any


class QueueRows(StoreRows, Generic[K, V]):
    """The rows of a queue: one per record, by time, then by number, and one with `Progress`.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.

    Attributes:
        key: Serde of the keys, whose bytes sort like the keys.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self.key = key.ordered
        self._keys, self._values = _KeySerde(key), _RowSerde(value)
        self._overlay = overlay.store(name, self._keys, self._values)

    def progress(self) -> Progress:
        """Return the newest time, next record number and released time of the queue."""
        return Progress(*(self._overlay.get(_NUMBERS) or NO_PROGRESS))

    def put(self, record: Record[K, V]) -> Queued:
        """Put a record after records of the same or an earlier time; return its position."""
        progress = self.progress()
        entry = Queued(record.timestamp, progress.number, record.key)
        row = record.value, record.timestamp, record.headers
        self._overlay.put((1, *entry), row)
        newest = max(progress.newest, record.timestamp)
        self._overlay.put(_NUMBERS, (newest, progress.number + 1, progress.released))
        return entry

    def put_many(
        self, records: Iterable[tuple[int, Record[K, V]]], count: int, newest_ms: int
    ) -> None:
        """Put records of a batch, each with its number within the batch.

        Args:
            records: Each record to put, preceded by its number within the batch.
            count: The number of all records of the batch, including records that are not put.
            newest_ms: The time of the newest record in the batch.
        """
        progress = self.progress()
        for number, record in records:
            key = (1, record.timestamp, progress.number + number, record.key)
            self._overlay.put(key, (record.value, record.timestamp, record.headers))
        newest = max(progress.newest, newest_ms)
        self._overlay.put(_NUMBERS, (newest, progress.number + count, progress.released))

    def get(self, entry: Queued) -> Record[K, V] | None:
        """Return the record at a position, or None."""
        row = self._overlay.get((1, *entry))
        if row is None:
            return None
        value, timestamp, headers = row
        return Record(entry.key, value, timestamp, headers)

    def release(self, time_ms: int) -> None:
        """Mark the records up to a time (ms) as released."""
        progress = self.progress()
        if time_ms > progress.released:
            self._overlay.put(_NUMBERS, tuple(progress._replace(released=time_ms)))

    def follow(self, others: Iterable[Progress]) -> None:
        """Continue other queues, whose waiting records this queue has.

        The newest time is the latest of all queues. The released time is the earliest of all used
        queues, so that each waiting record will be released.
        """
        used = [each for each in others if each != NO_PROGRESS]
        if used:
            newest, released = max(e.newest for e in used), min(e.released for e in used)
            self._overlay.put(_NUMBERS, (newest, self.progress().number, released))

    def entries(self, start_ms: int, end_ms: int) -> Iterator[Queued]:
        """Yield positions of records with `start_ms <= time < end_ms`, also of released ones."""
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        low, high = QUEUED + sortable_int64(start_ms), QUEUED + sortable_int64(end_ms)
        for handle, _ in self._overlay.scan(low, high):
            yield Queued(*handle[1:])

    def drop_before(self, end_ms: int, start_ms: int = -FAR_MS) -> None:
        """Delete records with `start_ms <= time < end_ms`."""
        low, high = sortable_int64(start_ms), sortable_int64(end_ms)
        self._overlay.delete_range(QUEUED + low, QUEUED + high)

    def last_time(self) -> int | None:
        """Return the time (ms) of the last waiting record, or None."""
        last = next(self.scan(reverse=True), None)
        return None if last is None else last.timestamp

    def scan(
        self, from_ms: int | None = None, to_ms: int | None = None, *, reverse: bool = False
    ) -> Iterator[Record[K, V]]:
        """Yield waiting records with `from_ms <= time <= to_ms`, in order, or in reverse."""
        first = self.progress().released + 1
        low = QUEUED + sortable_int64(first if from_ms is None else max(first, from_ms))
        high = None if to_ms is None else QUEUED + sortable_int64(to_ms + 1)
        yield from self._records(low, high, reverse=reverse)

    def rebuild(self, key: bytes, data: bytes | None) -> None:
        """Set or delete a record or the `Progress`, by key and value of a changelog record.

        Raises:
            DeserializationError: The bytes do not belong to a queue.
        """
        value = None if data is None else self._values.deserialize(data)
        self._overlay.put(self._keys.deserialize(key), value)

    def _records(
        self, low: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[Record[K, V]]:
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        high = after_prefix(QUEUED) if end is None else end
        for (_, _, _, key), row in self._overlay.scan(low, high, reverse=reverse):
            value, timestamp, headers = row
            yield Record(key, value, timestamp, headers)


class _KeySerde(CompositeSerde[Any]):
    """The serde of row keys: a record's time and number (8 bytes each), then its key.

    The key of the row with the `Progress` is one byte.
    """

    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("queue-key", key)
        self._key = key.ordered

    @override
    def serialize(self, value: tuple[Any, ...]) -> bytes:
        if len(value) == 1:
            return b"\x00"
        _, time, number, key = value
        place = sortable_int64(time) + sortable_int64(number)
        return QUEUED + place + self._key.serialize(key)

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        if data == b"\x00":
            return _NUMBERS
        if data[:1] != QUEUED:
            raise DeserializationError(
                f"expected the key of a queue store's row, got {data[:40]!r}"
            )
        return 1, read_int64(data, 1), read_int64(data, 9), self._key.deserialize(data[17:])


class _RowSerde(CompositeSerde[Any]):
    """The serde of row values: a record without its key, or the `Progress` of the queue."""

    type_token = tuple

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("queue-row", value)
        self._kept: Serde[Any] = KeptSerde(value)

    @override
    def serialize(self, value: tuple[Any, ...]) -> bytes:
        if isinstance(value[2], int):
            return b"\x00" + _THREE.pack(*value)
        return QUEUED + self._kept.serialize(value)

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        if data[:1] == QUEUED:
            kept: tuple[Any, ...] = self._kept.deserialize(data[1:])
            return kept
        try:
            return _THREE.unpack(data[1:])
        except struct.error as exc:
            raise DeserializationError(
                "expected three int64 numbers of a queue store (newest time, next record "
                f"number, released time), got {data[:40]!r}"
            ) from exc
