"""Expire the rows of a table by age, and forward each expiry as a change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.durations import milliseconds
from kstreams.errors import DeserializationError
from kstreams.joins.change import Change
from kstreams.joins.table_rows import RowOf, TableRows
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.processors.supplier import StoreParameters
from kstreams.record import Record
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.serde.numbers import INT64
from kstreams.state.stores.key_value.kind import key_value_store
from kstreams.state.stores.key_value.store import KeyValueStore
from kstreams.state.stores.spec import StoreSpec
from kstreams.times import BEFORE_ALL_MS, FAR_MS

__all__ = ("Expiry",)

_Entry = tuple[Any, ...]
"""The time at which to check a key (ms), and the key; the empty entry marks a complete index."""

_ALL: _Entry = ()
_ALL_BYTES, _ENTRY_BYTES = b"\x00", b"\x01"
_BY_TIME = milliseconds(1)


@dataclass(frozen=True)
class Expiry:
    """Creates the processors that expire the rows of a table.

    When stream time reaches a row's time plus `ttl_ms`, the row is deleted and a `Change(None,
    old)` is forwarded, after the record that advanced stream time, with the time of expiry. So
    downstream tables are updated, too.

    Only rows that may have expired are read. An index contains, for each row, a lower bound of the
    row's time of expiry; the bound is written when a row is added, not when it changes. If an
    existing table gets a time to live, the index is built from the table's rows.

    Args:
        rows: Reads the table.
        store: The store of the table.
        ttl_ms: Time to live of a row, counted from the row's time, ms.

    Source: Flink's `StateTtlConfig`, which expires silently.
    """

    rows: TableRows
    store: StoreSpec[Any]
    ttl_ms: int

    def __call__(self) -> _Expiry:
        """Return a new processor."""
        return _Expiry(self)

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the table's stores and the store of the index."""
        return tuple(dict.fromkeys((*self.rows.stores, self.store, self.index)))

    @property
    def keyed_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the table's stores."""
        return (*self.rows.stores, self.store)

    @property
    def store_parameters(self) -> StoreParameters:
        """Return the time to live of rows, by store."""
        return {self.store.name: {"table.ttl_ms": self.ttl_ms}}

    @property
    def index(self) -> StoreSpec[KeyValueStore[_Entry, int]]:
        """Return the definition of the index's store."""
        key = _EntrySerde(self.store.key)
        return key_value_store(f"{self.store.name}-expiry", key=key, value=INT64)


class _Expiry(ClosureProcessor[Any, "Change[Any]", Any, "Change[Any]"]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, expiry: Expiry) -> None:
        self._expiry = expiry

    def bind(
        self, context: ProcessorContext[Any, Change[Any]]
    ) -> Callable[[Record[Any, Change[Any]]], None]:
        index = _Index(self._expiry, context)
        forward = context.forward

        def expire(now: int) -> None:
            for key, old, time in index.expired(now):
                forward(Record(key, Change(None, old), time))

        def process(record: Record[Any, Change[Any]]) -> None:
            change = record.value
            if change.new is not None and change.latest:
                index.note(record.key, record.timestamp, is_new=change.old is None)
            forward(record)

        context.schedule(_BY_TIME, PunctuationType.STREAM_TIME, expire, name="expire")
        return process


class _Index:
    """The index of rows, by the time at which they may have expired.

    Args:
        expiry: The definition of the expiry.
        context: The context of the processor.
    """

    def __init__(self, expiry: Expiry, context: ProcessorContext[Any, Any]) -> None:
        self._context = context
        self._ttl = expiry.ttl_ms
        self._store = context.store(expiry.index)
        self._row_of: RowOf = expiry.rows.open(context)
        self._table = expiry.store.kind.table(expiry.store, context.store(expiry.store))
        self._order = expiry.store.key.ordered.serialize
        self._low = BEFORE_ALL_MS  # nothing is due before it: spares looking at the store
        self._is_whole = False

    def note(self, key: object, time_ms: int, *, is_new: bool) -> None:
        """Add an index entry for a row that was put, if it needs one.

        A row that existed before already has an entry, which suffices unless the row's new time is
        before stream time.
        """
        now = self._context.stream_time
        if is_new or time_ms < now:
            self._put(key, min(time_ms, now) + self._ttl)

    def expired(self, now: int) -> list[tuple[Any, Any, int]]:
        """Delete expired rows; return keys, values, times of expiry (ms), sorted by time and key.

        A row that has been updated and has not expired gets a new index entry.
        """
        self._complete()
        if now < self._low:
            return []
        found: dict[object, tuple[Any, Any, int]] = {}
        for entry, _ in list(self._store.range((self._low,), (now + 1,))):
            self._store.put(entry, None)
            row = self._row_of(entry[1])
            if row is None:
                continue
            expires = row[1] + self._ttl
            if expires <= now:
                self._table.put(entry[1], None, expires)
                found[self._order(entry[1])] = entry[1], row[0], expires
            else:
                self._put(entry[1], min(row[1], now) + self._ttl)
        self._low = next((entry[0] for entry, _ in self._store.range((now + 1,))), FAR_MS)
        return [found[key] for key in sorted(found, key=lambda key: (found[key][2], key))]

    def _put(self, key: object, due_ms: int) -> None:
        self._store.put((due_ms, key), 0)
        self._low = min(self._low, due_ms)

    def _complete(self) -> None:
        """Index all rows if there is no index yet, or if it was built for a longer time to live.

        An index of an earlier release records the time to live as 0.
        """
        if self._is_whole:
            return
        self._is_whole = True
        indexed = self._store.get(_ALL)
        if indexed is None or indexed > self._ttl:
            for key, row in self._table.scan(None, None):
                self.note(key, row[1], is_new=True)
        if indexed != self._ttl:
            self._store.put(_ALL, self._ttl)


class _EntrySerde(CompositeSerde[_Entry]):
    """Encodes an index entry: a time and a key.

    An entry without a key is the start of a range: it sorts before all other entries of its time.
    """

    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("expiry", key)
        self._key = key.ordered

    def serialize(self, value: _Entry) -> bytes:
        """Encode an entry."""
        if len(value) == 0:
            return _ALL_BYTES
        key = self._key.serialize(value[1]) if len(value) > 1 else b""
        return _ENTRY_BYTES + sortable_int64(value[0]) + key

    def deserialize(self, data: bytes) -> _Entry:
        """Decode an entry. Raises `DeserializationError` if the bytes are not an entry."""
        if data == _ALL_BYTES:
            return _ALL
        if data[:1] != _ENTRY_BYTES:
            raise DeserializationError(
                f"expected an entry of a table's index of expiry times, got {data[:40]!r}"
            )
        return read_int64(data, 1), self._key.deserialize(data[9:])
