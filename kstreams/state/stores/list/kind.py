"""The kind of list stores, and the function that defines such a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from typing_extensions import override

from kstreams._types import K, V
from kstreams.serde.base import Serde
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.changelog_form import ChangelogForm
from kstreams.state.stores.kind import StoreKind, Times
from kstreams.state.stores.list.changelog import ListForm
from kstreams.state.stores.list.rows import key_of_list
from kstreams.state.stores.list.store import ListStore
from kstreams.state.stores.prefix_free import read_prefix_free
from kstreams.state.stores.spec import StoreSpec

__all__ = ("LIST", "ListKind", "list_store")


_Live = ListStore[Any, Any]
_Row = tuple[Any, tuple[Any, ...]]
"""A key and the elements of its list."""


@dataclass(frozen=True)
class ListKind(StoreKind[_Live]):
    """The kind of stores with one list of elements per key, ordered by key."""

    absent: ClassVar[object] = ()
    divides_rows: ClassVar[bool] = True

    @override
    def open(self, spec: StoreSpec[_Live], overlay: Overlay) -> _Live:
        return ListStore(spec, overlay)

    @override
    def key_of_row(self, row: bytes) -> bytes | None:
        return read_prefix_free(row, 1)[0]

    @override
    def changelog(self, spec: StoreSpec[_Live]) -> ChangelogForm:
        return ListForm(spec)

    @override
    def scan(self, store: _Live, start: object, end: object, *, reverse: bool) -> Iterator[_Row]:
        return store.range(start, end, reverse=reverse)

    def flat(self, row: _Row) -> Iterator[tuple[Any, ...]]:
        """Yield one tuple of `columns` for each element of the list."""
        key, elements = row
        return ((key, element) for element in elements)

    @override
    def flat_of_key(self, store: _Live, key: object, times: Times) -> Iterator[tuple[Any, ...]]:
        return ((element,) for element in store.get(key))

    @override
    def fill(self, store: _Live, key: object, value: Any) -> None:
        store.delete(key)
        store.extend(key, value)

    @override
    def evict(self, store: _Live, key: object) -> None:
        store.delete(key)

    def row_key(self, row: bytes) -> bytes | None:
        """Return the ordered key of a list's own row; None for the row of an element."""
        return key_of_list(row)


LIST = ListKind("list")


def list_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[ListStore[K, V]]:
    """Define a list store.

    Args:
        name: The store's name: unique in the topology, and recorded with the state.
        key: Serde of the keys.
        value: Serde of the elements.
    """
    return StoreSpec(name, LIST, key, value)
