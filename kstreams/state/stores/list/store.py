"""The list store: many values a key, in the order they were added."""

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
    """A task's own part of a store of lists; made from `list_store(...)`.

    A short list is read and written at once. Adding to a long one costs the same however
    long it is, and it is never read or written whole unless asked for. A list without
    elements does not exist.

    Source: the `ListValueStore` of Kafka Streams' outer joins.
    """

    def __init__(self, spec: StoreSpec[ListStore[K, V]], overlay: Overlay) -> None:
        super().__init__(ListRows(spec.name, spec.key, spec.value, overlay))

    def get(self, key: K) -> tuple[V, ...]:
        """Return a key's elements; empty when it has none; one read for a short list."""
        return self._rows.get(key)

    def append(self, key: K, value: V) -> int:
        """Add an element at the end of a key's list; return the list's new length."""
        return self._rows.extend(key, (value,))

    def extend(self, key: K, values: Iterable[V]) -> int:
        """Add elements at the end of a key's list; return the list's new length."""
        return self._rows.extend(key, values)

    def delete(self, key: K) -> tuple[V, ...]:
        """Delete a key's list; return the elements it had, as `get` does."""
        return self._rows.take_first(key, self._rows.length(key))

    def take_first(self, key: K, count: int = 1) -> tuple[V, ...]:
        """Delete and return the first elements of a key, fewer where there are fewer."""
        return self._rows.take_first(key, count)

    def first(self, key: K) -> V | None:
        """Return a key's first element, or None."""
        return next(self._rows.elements(key), None)

    def length(self, key: K) -> int:
        """Return how many elements a key has; one read."""
        return self._rows.length(key)

    def elements(self, key: K, *, reverse: bool = False) -> Iterator[V]:
        """Yield a key's elements in order, or backward; of a long list, lazily."""
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
        """Yield keys with `start <= key < end` and how many elements each has, in key order."""
        return self._rows.lengths(start, end, reverse=reverse)
