"""The kind of the stores of `suppress`, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, overload

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.buffer.rows import BufferRows
from kstreams.state.stores.buffer.store import BufferedRecord, BufferStore
from kstreams.state.stores.changelog_form import ChangelogForm, RowForm
from kstreams.state.stores.kind import StoreKind, Times
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timed_rows import key_of_timed_row

__all__ = ("BUFFER", "BufferKind", "buffer_store")


_Live = BufferStore[Any, Any]
_Row = tuple[Any, BufferedRecord[Any, Any]]
"""A key and its record."""


@dataclass(frozen=True)
class BufferKind(StoreKind[_Live]):
    """The kind of stores with at most one buffered record per key, ordered by key."""

    columns: ClassVar[tuple[str, ...]] = ("key", "value", "timestamp_ms", "time_ms")
    key_columns: ClassVar[tuple[str, ...] | None] = ("value", "timestamp_ms")
    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return BufferStore(spec, overlay)

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return key_of_timed_row(row)

    def set_task_values(
        self, spec: StoreSpec[_Live], overlay: Overlay, found: Sequence[object]
    ) -> None:
        """Count the records; their bytes are counted when `suppress` needs them."""
        BufferRows.of(self.open(spec, overlay)).recount()

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return RowForm(spec)

    @override
    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        return store.range(start, end, reverse=reverse)

    @override
    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        key, found = row
        yield key, found.record.value, found.record.timestamp, found.time_ms

    @override
    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        found = store.get(key)
        if found is not None:
            yield found.record.value, found.record.timestamp


BUFFER = BufferKind("buffer")


@overload
def buffer_store(
    name: str, *, key: Serde[K], value: Serde[V], nullable: Literal[False] = ...
) -> StoreSpec[BufferStore[K, V]]: ...
@overload
def buffer_store(
    name: str, *, key: Serde[K], value: Serde[V], nullable: Literal[True]
) -> StoreSpec[BufferStore[K, V | None]]: ...
def buffer_store(
    name: str,
    *,
    key: Serde[Any],
    value: Serde[Any],
    nullable: bool = False,  # only for the type: the rows are the same
) -> StoreSpec[Any]:
    """Define the store in which `suppress` buffers records.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: The serde of the keys; see `windowed` for windowed keys.
        value: Serde of the values.
        nullable: Whether the store's type allows None as value, for tombstones.
    """
    return StoreSpec(name, BUFFER, key, value)
