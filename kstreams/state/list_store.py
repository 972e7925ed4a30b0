"""The list store: many values a key, in the order they were added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.state.overlay import Overlay
from kstreams.state.prefix_free import read_prefix_free, write_prefix_free
from kstreams.state.spec import StoreSpec

__all__ = ("ListStore", "list_store")

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""

_LIST, _ELEMENT = b"\x00", b"\x01"


class _KeySerde(CompositeSerde[Any]):
    """`(key,)` for a list's bounds, `(key, number)` for an element."""

    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("list-key", key)
        self._key = key.ordered

    def serialize(self, value: tuple[Any, ...]) -> bytes:
        """Convert."""
        data = write_prefix_free(self._key.serialize(value[0]))
        return _LIST + data if len(value) == 1 else _ELEMENT + data + sortable_int64(value[1])

    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        """Convert back."""
        key, end = read_prefix_free(data, 1)
        found = self._key.deserialize(key)
        return (found,) if data[:1] == _LIST else (found, read_int64(data, end))


class _RowSerde(CompositeSerde[Any]):
    """`(first, end)` for a list's bounds, `(value,)` for an element."""

    type_token = tuple

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("list-row", value)
        self._value = value

    def serialize(self, value: tuple[Any, ...]) -> bytes:
        """Convert."""
        if len(value) == 1:
            return _ELEMENT + self._value.serialize(value[0])
        return _LIST + sortable_int64(value[0]) + sortable_int64(value[1])

    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        """Convert back."""
        if data[:1] == _ELEMENT:
            return (self._value.deserialize(data[1:]),)
        if data[:1] != _LIST:
            raise DeserializationError(f"expected a list's row, got {data[:40]!r}")
        return read_int64(data, 1), read_int64(data, 9)


class ListStore(Generic[K, V]):
    """A task's own part of a store of lists; made from `list_store(...)`.

    Each element is a row of its own: adding one costs the same however long the list, and
    a long list is never read or written whole. A list without elements does not exist.

    Source: the `ListValueStore` behind Kafka Streams' outer joins.
    """

    def __init__(self, spec: StoreSpec[ListStore[K, V]], overlay: Overlay) -> None:
        self._keys = _KeySerde(spec.key)
        self._rows = overlay.store(spec.name, self._keys, _RowSerde(spec.value))
        self._key = spec.key.ordered

    def append(self, key: K, value: V) -> int:
        """Add an element at the end of a key's list; return the list's new length."""
        return self.extend(key, (value,))

    def extend(self, key: K, values: Iterable[V]) -> int:
        """Add elements at the end of a key's list; return the list's new length."""
        first, end = self._bounds(key)
        begin = end
        for value in values:
            self._rows.put((key, end), (value,))
            end += 1
        if end > begin:
            self._rows.put((key,), (first, end))
        return end - first

    def get(self, key: K) -> tuple[V, ...]:
        """Return a key's elements; empty when it has none."""
        return tuple(self.iterate(key))

    def iterate(self, key: K, *, reverse: bool = False) -> Iterator[V]:
        """Yield a key's elements in order, or backward; lazy."""
        first, end = self._bounds(key)
        low = self._keys.serialize((key, first))
        high = self._keys.serialize((key, end))
        return (value for _, (value,) in self._rows.scan(low, high, reverse=reverse))

    def first(self, key: K) -> V | None:
        """Return a key's first element, or None."""
        return next(self.iterate(key), None)

    def length(self, key: K) -> int:
        """Return how many elements a key has; one read."""
        first, end = self._bounds(key)
        return end - first

    def take_first(self, key: K, count: int = 1) -> tuple[V, ...]:
        """Remove and return the first elements of a key, fewer where there are fewer."""
        first, end = self._bounds(key)
        taken = tuple(islice(self.iterate(key), max(count, 0)))
        for number in range(first, first + len(taken)):
            self._rows.put((key, number), None)
        if taken:
            left = first + len(taken)
            self._rows.put((key,), (left, end) if left < end else None)
        return taken

    def take(self, key: K) -> tuple[V, ...]:
        """Remove and return all elements of a key."""
        return self.take_first(key, self.length(key))

    def keys(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, int]]:
        """Yield keys with `start <= key < end`, in order, each with its list's length."""
        low = _LIST if start is None else self._keys.serialize((start,))
        high = _ELEMENT if end is None else self._keys.serialize((end,))
        for (key,), (first, stop) in self._rows.scan(low, high, reverse=reverse):
            yield key, stop - first

    def _bounds(self, key: K) -> tuple[int, int]:
        return self._rows.get((key,)) or (0, 0)


def list_store(name: str, *, key: Serde[K], value: Serde[V]) -> StoreSpec[ListStore[K, V]]:
    """Define a list store.

    Args:
        name: Unique in the topology; recorded with the state.
        key: Serde of the keys.
        value: Serde of the elements.
    """
    factory: Any = ListStore
    return StoreSpec(name, "list", key, value, factory)
