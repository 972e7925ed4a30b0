"""The kind of timestamped stores, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import Content, StoreKind, Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import Replaced, TableAccess
from kstreams.state.stores.table_columns import TableColumns
from kstreams.state.stores.timestamped.changelog import TimestampedForm
from kstreams.state.stores.timestamped.rows import TimestampedRows
from kstreams.state.stores.timestamped.store import TimestampedStore

__all__ = ("TIMESTAMPED", "TimestampedKind", "timestamped_store")


_Live = TimestampedStore[Any, Any]


@dataclass(frozen=True)
class TimestampedKind(StoreKind[_Live]):
    """The kind of stores with one value and timestamp per key, ordered by key."""

    columns: ClassVar[tuple[str, ...]] = ("key", "value", "timestamp_ms")
    has_table_columns: ClassVar[bool] = True
    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return TimestampedStore(spec, overlay)

    def table(self, spec: StoreSpec[_Live], store: _Live) -> TableAccess:
        """Return access to the store as a table: the last put value is the current value."""
        rows: TimestampedRows[Any, Any] = TimestampedRows.of(store)
        read, write = rows.reader(), rows.writer()

        def put(key: object, value: object, timestamp_ms: int) -> Replaced:
            before = read(key)
            write(key, None if value is None else (value, timestamp_ms))
            return Replaced(None if before is None else before[0])

        return TableAccess(read, store.get_many, put, store.range)

    @override
    def table_columns(self, spec: StoreSpec[_Live], store: _Live) -> TableColumns:
        return TimestampedRows.of(store).waiting

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return row

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return TimestampedForm(spec)

    def scan(
        self, store: _Live, start: object, end: object, *, reverse: bool
    ) -> Iterator[tuple[Any, tuple[Any, int]]]:
        """Yield keys, with values and timestamps."""
        return store.range(start, end, reverse=reverse)

    @override
    def flat(self, row: tuple[Any, tuple[Any, int]]) -> Iterator[tuple[Any, ...]]:
        key, found = row
        yield key, *found

    @override
    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        found = store.get(key)
        if found is not None:
            yield found

    def takes(self, other: StoreKind[Any]) -> bool:
        """Return whether the other kind is a table; a migration uses only latest versions."""
        return other.is_table

    @override
    def fill(self, store: _Live, key: object, value: Any) -> None:
        store.put(key, *value)

    @override
    def evict(self, store: _Live, key: object) -> None:
        store.delete(key)

    def row_key(self, row: bytes) -> bytes:
        """Return the row key unchanged: it is the ordered bytes of the key."""
        return row

    def contents(self, spec: StoreSpec[_Live], overlay: Overlay) -> Iterator[Content]:
        """Yield keys and values, with their timestamps."""
        for key, (value, timestamp_ms) in self.open(spec, overlay).range():
            yield Content(key, value, (timestamp_ms,))

    @override
    def filling(self, spec: StoreSpec[_Live], overlay: Overlay) -> Callable[[Content], object]:
        put = self.open(spec, overlay).put
        return lambda content: put(content.key, content.value, *content.times)


TIMESTAMPED = TimestampedKind("timestamped")


def timestamped_store(
    name: str, *, key: Serde[K], value: Serde[V]
) -> StoreSpec[TimestampedStore[K, V]]:
    """Define a timestamped store.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: Serde of the values; for `aggregate` the aggregator's `state`.
    """
    return StoreSpec(name, TIMESTAMPED, key, value)
