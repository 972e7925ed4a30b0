"""The kind of versioned stores, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.clock import to_ms
from kstreams.parameters import Parameters
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import Content, StoreKind, Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Replaced, Row, TableAccess
from kstreams.state.stores.table_columns import TableColumns
from kstreams.state.stores.versioned.changelog import VersionedForm
from kstreams.state.stores.versioned.rows import (
    LATEST,
    NOT_PUT,
    VersionedRows,
    is_latest,
    key_of_any_row,
    key_of_version,
)
from kstreams.state.stores.versioned.store import VersionedKeyValueStore, VersionedValue
from kstreams.state.stores.versioned.table_columns import VersionedColumns

__all__ = ("VersionedKind", "versioned_key_value_store", "versioned_kind")


_Live = VersionedKeyValueStore[Any, Any]
_Row = tuple[Any, VersionedValue[Any]]
"""A key and its latest version."""


@dataclass(frozen=True)
class VersionedKind(StoreKind[_Live]):
    """The kind of stores with the versions of each key within a retention, ordered by key.

    Args:
        name: The kind's name.
        retention_ms: The age (ms) up to which versions can be read.
    """

    columns: ClassVar[tuple[str, ...]] = ("key", "value", "timestamp_ms")
    key_columns: ClassVar[tuple[str, ...] | None] = ("valid_from_ms", "valid_to_ms", "value")
    has_times: ClassVar[bool] = True
    has_history: ClassVar[bool] = True
    has_table_columns: ClassVar[bool] = True

    retention_ms: int

    @property
    @override
    def history_ms(self) -> int:
        return self.retention_ms

    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return VersionedKeyValueStore(spec, overlay, retention_ms=self.retention_ms)

    def parameters(self) -> Parameters:
        """Return the retention of versions, ms."""
        return {"retention_ms": self.retention_ms}

    def table(self, spec: StoreSpec[_Live], store: _Live) -> TableAccess:
        """Return access to the store as a table: the value with the highest time is current."""

        def get(key: object, as_of_ms: int | None = None) -> Row | None:
            found = store.get(key, as_of_ms)
            return None if found is None else (found.value, found.timestamp)

        def put(key: object, value: object, timestamp_ms: int) -> Replaced | None:
            before = store.get(key)
            valid_to = store.put(key, value, timestamp_ms)
            if valid_to == NOT_PUT:
                return None
            return Replaced(None if before is None else before.value, valid_to == LATEST)

        def scan(start: object, end: object) -> Iterator[tuple[Any, Row]]:
            for key, found in store.range(start, end):
                yield key, (found.value, found.timestamp)

        horizon = VersionedRows.of(store).horizon
        return TableAccess(get, lambda keys: [get(key) for key in keys], put, scan, get, horizon)

    @override
    def table_columns(self, spec: StoreSpec[_Live], store: _Live) -> TableColumns:
        rows: VersionedRows[Any, Any] = VersionedRows.of(store)
        rows.waiting = rows.waiting or VersionedColumns(rows)
        return rows.waiting

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return VersionedForm(spec, self.retention_ms)

    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        """Yield keys and their latest versions."""
        return store.range(start, end, reverse=reverse)

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        key, version = row
        yield key, version.value, version.timestamp

    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        """Yield start, end and value of the key's versions that were valid within `times`."""
        low, high = times
        for version in store.history(key, low, None if high is None else high - 1):
            yield version.timestamp, version.valid_to, version.value

    @override
    def fill(self, store: _Live, key: object, value: Any) -> None:
        store.put(key, value.value, value.timestamp)

    @override
    def evict(self, store: _Live, key: object) -> None:
        VersionedRows.of(store).forget(key)

    def row_key(self, row: bytes) -> bytes | None:
        """Return the key's ordered bytes if the row has the latest version of a key; else None."""
        return key_of_version(row) if is_latest(row) else None

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return key_of_any_row(row)

    def task_values(self, spec: StoreSpec[_Live], overlay: Overlay) -> int | None:
        """Return the highest time (ms) of all puts, or None."""
        return VersionedRows.of(self.open(spec, overlay)).observed()

    def set_task_values(
        self, spec: StoreSpec[_Live], overlay: Overlay, found: Sequence[object]
    ) -> None:
        """Set the highest time of all puts to the highest time of all old tasks."""
        times = [time for time in found if isinstance(time, int)]
        if times:
            VersionedRows.of(self.open(spec, overlay)).observe(max(times))

    # ------------------------------------------------------------ migrations

    def takes(self, other: StoreKind[Any]) -> bool:
        """Return whether the other kind is a table; rows without history become first versions."""
        return other.is_table

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys, values and starts of all versions, by key, then by time."""
        for key, start, value in VersionedRows.of(self.open(spec, overlay)).versions():
            yield Content(key, value, (start,))

    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        """Return a function that writes a version; a value of None marks a deletion of the key."""
        rebuild = VersionedRows.of(self.open(spec, overlay)).rebuild
        return lambda content: rebuild(content.key, content.value, *content.times)


def versioned_kind(retention: timedelta) -> VersionedKind:
    """Return the kind of stores whose versions can be read within a retention.

    Raises:
        ValueError: The retention is negative.
    """
    if retention < timedelta(0):
        raise ValueError(f"retention is {retention}, expected 0 or more")
    return VersionedKind("versioned", to_ms(retention))


def versioned_key_value_store(
    name: str, *, key: Serde[K], value: Serde[V], retention: timedelta
) -> StoreSpec[VersionedKeyValueStore[K, V]]:
    """Define a versioned key-value store.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: Serde of the values.
        retention: The maximum age of readable versions and of late records; or `forever`.

    Raises:
        ValueError: The retention is negative.
    """
    return StoreSpec(name, versioned_kind(retention), key, value)
