"""The rows of a versioned store: latest versions, old versions, and an index of their ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Generic

from typing_extensions import override

from kstreams._types import K, V
from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.prefix_free import read_prefix_free, write_prefix_free
from kstreams.state.stores.state_store import StoreRows
from kstreams.state.stores.table_columns import TableColumns
from kstreams.times import BEFORE_ALL_MS

__all__ = (
    "LATEST",
    "NOT_PUT",
    "VersionedRows",
    "is_latest",
    "key_of_any_row",
    "key_of_version",
    "latest_row",
    "read_end",
    "read_version",
)


LATEST = -1
"""The result of `put` for the latest version, which has no end yet."""

NOT_PUT = -(1 << 63)
"""The result of `put` for a timestamp older than the retention; nothing is changed."""

_ENDED, _LATEST, _OLD, _OBSERVED = b"\x00", b"\x01", b"\x02", b"\x03"
_DROPPED_A_PUT = 2


class VersionedRows(StoreRows, Generic[K, V]):
    """The rows of a versioned store: four kinds of rows, by the form of their keys.

    `(key,)` has the latest version, `(key, start)` an old version; `(end, key, start)` marks a
    version to delete when its end is older than the retention; `()` has the highest put time.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the values.
        overlay: The write-back caches of the task's stores.
        retention_ms: The age (ms) up to which versions are kept.

    Attributes:
        retention_ms: The age (ms) up to which versions are kept.
        waiting: The rows as a table for columnar joins, with changes that are not yet written;
            None until first used.
    """

    waiting: TableColumns | None = None

    def __init__(
        self,
        name: str,
        key: Serde[K],
        value: Serde[V],
        overlay: Overlay,
        *,
        retention_ms: int,
    ) -> None:
        self._keys = _KeySerde(key)
        self._store = overlay.store(name, self._keys, _RowSerde(value))
        self.retention_ms = retention_ms
        self._low = BEFORE_ALL_MS  # nothing ends before it: spares walking over deleted entries

    def put(self, key: K, value: V | None, timestamp_ms: int) -> int:
        """Set a version, and delete at most two versions that ended before the retention.

        Returns:
            The end of the version's validity (ms): `LATEST`, or the time of the next version;
            `NOT_PUT` if the time is older than the retention.
        """
        observed = self.observed()
        if observed is not None and timestamp_ms < observed - self.retention_ms:
            return NOT_PUT
        if observed is None or timestamp_ms > observed:
            observed = timestamp_ms
            self._store.put((), (observed,))
        valid_to = self._put(key, value, timestamp_ms)
        self._drop_ended(observed - self.retention_ms, _DROPPED_A_PUT)
        return valid_to

    def rebuild(self, key: K, value: V | None, timestamp_ms: int) -> None:
        """Set a version as `put` does, even if it is older than the retention, for a restore."""
        observed = self.observed()
        if observed is None or timestamp_ms > observed:
            self._store.put((), (timestamp_ms,))
        self._put(key, value, timestamp_ms)

    def forget(self, key: K) -> None:
        """Remove all versions of a key, without adding a deletion as version."""
        for start, end, _ in list(self.history(key, None)):
            self._store.put((key, start), None)
            self._store.put((end, key, start), None)
        latest = self.latest(key)
        if latest is not None:
            self._store.put((latest[0], key, latest[0]), None)
            self._store.put((key,), None)

    def horizon(self) -> int:
        """Return the earliest time (ms) in the retention; `BEFORE_ALL_MS` for an empty store."""
        observed = self.observed()
        return BEFORE_ALL_MS if observed is None else observed - self.retention_ms

    def _put(self, key: K, value: V | None, timestamp: int) -> int:
        latest = self.latest(key)
        if latest is None or timestamp >= latest[0]:
            if latest is not None and timestamp > latest[0]:
                self._put_old(key, latest[0], timestamp, latest[1])
            self._put_latest(key, timestamp, value)
            return LATEST
        before = self.at_or_before(key, timestamp)
        if before is not None and before[1] > timestamp:
            start, valid_to, old = before
            if start < timestamp:
                self._put_old(key, start, timestamp, old)
        else:
            valid_to = self._next_start(key, timestamp, latest[0])
        if valid_to > self.horizon():
            self._put_old(key, timestamp, valid_to, value)
        return valid_to

    def observed(self) -> int | None:
        """Return the highest timestamp of all puts (ms), or None before the first put."""
        found = self._store.get(())
        return None if found is None else found[0]

    def observe(self, time_ms: int) -> None:
        """Set the highest timestamp of all puts (ms)."""
        self._store.put((), (time_ms,))

    def latest(self, key: K) -> tuple[int, V | None] | None:
        """Return start and value of the latest version, or None."""
        return self._store.get((key,))  # type: ignore[no-any-return]  # erased by the overlay

    def latest_many(self, keys: Sequence[K]) -> list[tuple[int, V | None] | None]:
        """Return the results of `latest` for many keys; reads the backend once."""
        return self._store.get_many([(key,) for key in keys])

    def _put_latest(self, key: K, start_ms: int, value: V | None) -> None:
        """Set the latest version; a version without a value is deleted after the retention."""
        before = self._store.get((key,))
        if before is not None and before[1] is None:
            self._store.put((before[0], key, before[0]), None)
        self._store.put((key,), (start_ms, value))
        if value is None:
            self._ends(start_ms, key, start_ms)

    def _put_old(self, key: K, start_ms: int, end_ms: int, value: V | None) -> None:
        """Set an old version; replaces a version with the same start."""
        before = self._store.get((key, start_ms))
        if before is not None and before[0] != end_ms:
            self._store.put((before[0], key, start_ms), None)
        self._store.put((key, start_ms), (end_ms, value, start_ms))
        self._ends(end_ms, key, start_ms)

    def _ends(self, end_ms: int, key: K, start_ms: int) -> None:
        self._store.put((end_ms, key, start_ms), ())
        self._low = min(self._low, end_ms)

    def at_or_before(self, key: K, time_ms: int) -> tuple[int, int, V | None] | None:
        """Return start, end and value of the last old version with `start <= time_ms`, or None."""
        return next(self.history(key, time_ms, reverse=True), None)

    def _next_start(self, key: K, time_ms: int, otherwise: int) -> int:
        """Return the start of the first old version after a time, or `otherwise`."""
        low = self._keys.serialize((key, time_ms + 1))
        high = self._keys.after_old(key)
        for (_, start), _ in self._store.scan(low, high):
            return int(start)
        return otherwise

    def history(
        self, key: K, until_ms: int | None, *, reverse: bool = False
    ) -> Iterator[tuple[int, int, V | None]]:
        """Yield start, end and value of old versions with `start <= until_ms`, by start."""
        # RocksDB reads the bounds while the scan lasts, so they are kept in variables.
        low = self._keys.serialize((key, BEFORE_ALL_MS))
        high = (
            self._keys.after_old(key)
            if until_ms is None
            else self._keys.serialize((key, until_ms + 1))
        )
        for (_, start), (end, value, _) in self._store.scan(low, high, reverse=reverse):
            yield start, end, value

    def versions(self) -> Iterator[tuple[K, int, V | None]]:
        """Yield key, start and value of all versions, by key, then by time."""
        for (key,), (begin, value) in self._store.scan(_LATEST, _OLD):
            for start, _, old in self.history(key, None):
                yield key, start, old
            yield key, begin, value

    def all_latest(
        self, start: K | None, end: K | None, *, reverse: bool
    ) -> Iterator[tuple[K, int, V | None]]:
        """Yield key, start time (ms) and value of the latest version of each key in a range.

        Args:
            start: The first key; None: no lower bound.
            end: The exclusive end key; None: no upper bound.
            reverse: Whether to yield the last key first.
        """
        low = _LATEST if start is None else self._keys.serialize((start,))
        high = _OLD if end is None else self._keys.serialize((end,))
        for (key,), (begin, value) in self._store.scan(low, high, reverse=reverse):
            yield key, begin, value

    def _drop_ended(self, until_ms: int, limit: int) -> None:
        """Delete at most `limit` versions that ended at or before a time."""
        if until_ms < self._low:
            return
        low = _ENDED + sortable_int64(self._low)
        high = _ENDED + sortable_int64(until_ms + 1)
        found = list(islice(self._store.scan(low, high), limit))
        whole = len(found) < limit
        if found:
            last = high if whole else self._keys.serialize(found[-1][0]) + b"\x00"
            self._store.delete_range(low, last)
        if self._store.journal is None:  # else what follows may be undone
            self._low = until_ms + 1 if whole else found[-1][0][0]
        for (end, key, start), _ in found:
            if end == start:
                latest = self._store.get((key,))
                if latest is not None and latest[0] == start and latest[1] is None:
                    self._store.put((key,), None)
            else:
                self._store.put((key, start), None)


def key_of_version(row: bytes) -> bytes | None:
    """Return the encoded key of a version from its row key; None for other kinds of rows.

    The encoding of the key is the one of its ordered serde.
    """
    return read_prefix_free(row, 1)[0] if row[:1] in (_LATEST, _OLD) else None


def key_of_any_row(row: bytes) -> bytes | None:
    """Return the encoded key of a version as `key_of_version`, also from its index entry."""
    return read_prefix_free(row, 9)[0] if row[:1] == _ENDED else key_of_version(row)


def is_latest(row: bytes) -> bool:
    """Return whether an encoded row key is that of a latest version."""
    return row[:1] == _LATEST


def latest_row(key: bytes) -> bytes:
    """Return the row key of the latest version of a key in the encoding of its ordered serde."""
    return _LATEST + write_prefix_free(key)


def read_version(data: bytes) -> tuple[int, bytes | None]:
    """Return start (ms) and encoded value of a version, given the encoded row."""
    place = 9 if data[:1] == _OLD else 1
    part = data[place + 8 :]
    return read_int64(data, place), part[1:] if part else None


def read_end(data: bytes) -> int:
    """Return the end (ms) of an old version, given the encoded row."""
    return read_int64(data, 1)


class _KeySerde(CompositeSerde[Any]):
    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("versioned-key", key)
        self._key = key.ordered

    def serialize(self, value: tuple[Any, ...]) -> bytes:
        """Encode the key of a row of any kind; see `VersionedRows`."""
        match value:
            case (end, key, start):
                return _ENDED + sortable_int64(end) + self._whole(key) + sortable_int64(start)
            case (key, start):
                return _OLD + self._whole(key) + sortable_int64(start)
            case (key,):
                return _LATEST + self._whole(key)
            case _:
                return _OBSERVED

    def after_old(self, key: object) -> bytes:
        """Return an upper bound for the encoded keys of a key's old versions."""
        return _OLD + self._whole(key) + b"\xff" * 9

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        kind = data[:1]
        if kind == _OBSERVED:
            return ()
        if kind == _ENDED:
            key, place = read_prefix_free(data, 9)
            return read_int64(data, 1), self._key.deserialize(key), read_int64(data, place)
        key, place = read_prefix_free(data, 1)
        found = self._key.deserialize(key)
        if kind == _LATEST:
            return (found,)
        if kind != _OLD:
            raise DeserializationError(f"expected a key of a versioned store, got {data[:40]!r}")
        return found, read_int64(data, place)

    def _whole(self, key: object) -> bytes:
        return write_prefix_free(self._key.serialize(key))


class _RowSerde(CompositeSerde[Any]):
    """The serde of row values.

    Latest versions have `(start, value)`, old versions `(end, value, start)`, rows that mark a
    version to delete `()`, and the row with the highest timestamp of all puts has `(observed,)`.
    """

    type_token = tuple

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("versioned-row", value)
        self._value = value

    @override
    def serialize(self, value: tuple[Any, ...]) -> bytes:
        match value:
            case (end, content, start):
                return _OLD + sortable_int64(end) + sortable_int64(start) + self._part(content)
            case (start, content):
                return _LATEST + sortable_int64(start) + self._part(content)
            case (observed,):
                return _OBSERVED + sortable_int64(observed)
            case _:
                return b""

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        kind = data[:1]
        if not kind:
            return ()
        if kind == _OBSERVED:
            return (read_int64(data, 1),)
        if kind == _LATEST:
            return read_int64(data, 1), self._whole(data[9:])
        return read_int64(data, 1), self._whole(data[17:]), read_int64(data, 9)

    def _part(self, content: object) -> bytes:
        return b"" if content is None else b"\x01" + self._value.serialize(content)

    def _whole(self, data: bytes) -> object:
        return self._value.deserialize(data[1:]) if data else None
