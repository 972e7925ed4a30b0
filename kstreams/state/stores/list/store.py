"""The list store: several values per key, in the order of addition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic

from kstreams._types import K, V
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.list.rows import ListRows
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.state_store import StateStore

__all__ = ("ListStore",)


class ListStore(StateStore[ListRows[K, V]], Generic[K, V]):
    """One partition of a list store, which `list_store(...)` defines.

    A short list is read and written as a whole. Adding to a long list costs the same for any
    length of the list, and a long list is only read as a whole by `get`, `delete` and `range`. A
    list without elements does not exist.

    Source: the `ListValueStore` of Kafka Streams' outer joins.
    """

    def __init__(self, spec: StoreSpec[ListStore[K, V]], overlay: Overlay) -> None:
        super().__init__(ListRows(spec.name, spec.key, spec.value, overlay))

    def get(self, key: K) -> tuple[V, ...]:
        """Return the elements of a key, empty without a list; one read for a short list."""
        return self._rows.get(key)

    def append(self, key: K, value: V) -> int:
        """Add an element at the end of a key's list; return the list's new length."""
        return self._rows.extend(key, (value,))

    def extend(self, key: K, values: Iterable[V]) -> int:
        """Add elements at the end of a key's list; return the list's new length."""
        return self._rows.extend(key, values)

    def delete(self, key: K) -> tuple[V, ...]:
        """Delete a key's list; return the deleted elements, empty without a list."""
        return self._rows.take_first(key, self._rows.length(key))

    def take_first(self, key: K, count: int = 1) -> tuple[V, ...]:
        """Delete and return the first `count` elements of a key; all if the list is shorter."""
        return self._rows.take_first(key, count)

    def first(self, key: K) -> V | None:
        """Return a key's first element, or None."""
        return next(self._rows.elements(key), None)

    def length(self, key: K) -> int:
        """Return the number of elements of a key; costs one read."""
        return self._rows.length(key)

    def elements(self, key: K, *, reverse: bool = False) -> Iterator[V]:
        """Yield the elements of a key in order, or in reverse; reads long lists lazily."""
        return self._rows.elements(key, reverse=reverse)

    def range(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, tuple[V, ...]]]:
        """Yield keys with `start <= key < end` and their elements, in key order."""
        for key, _ in self._rows.lengths(start, end, reverse=reverse):
            yield key, self._rows.get(key)

    def lengths(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, int]]:
        """Yield keys with `start <= key < end` and the lengths of their lists, in key order."""
        return self._rows.lengths(start, end, reverse=reverse)
