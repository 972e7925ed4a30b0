"""The rows of a list store: one row for a short list, one row per element of a long list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Generic

from typing_extensions import override

from kstreams._types import K, V
from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde, read_int64, sortable_int64
from kstreams.serde.sequences import divided, joined
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.prefix_free import read_prefix_free, write_prefix_free
from kstreams.state.stores.state_store import StoreRows

__all__ = ("ELEMENT", "LIST", "SHORT", "ListRows", "key_of_list")


LIST, ELEMENT, SHORT = b"\x00", b"\x01", b"\x02"
"""The first bytes of row keys and values: LIST for a list, ELEMENT for an element; SHORT for the
value of a short list, which contains its elements.
"""

_SHORT_LENGTH = 4
"""The maximum length of a short list, whose row is rewritten for each added element."""

_Row = tuple[int, int, "tuple[Any, ...] | None"]
"""The number of a list's first element, the number after the last, a short list's elements."""

_NO_LIST: _Row = (0, 0, ())


class ListRows(StoreRows, Generic[K, V]):
    """The rows of a list store: `(key,)` is the key of a list, `(key, number)` of an element.

    The elements of a short list are in the list's row. When the list becomes longer, each element
    gets a row: then adding an element costs the same for any length of the list, and the list is
    never read or written as a whole. A list without elements does not exist.

    Args:
        name: The store's name.
        key: Serde of the keys.
        value: Serde of the elements.
        overlay: The write-back caches of the task's stores.
    """

    def __init__(self, name: str, key: Serde[K], value: Serde[V], overlay: Overlay) -> None:
        self._keys = _KeySerde(key)
        self._rows = overlay.store(name, self._keys, _RowSerde(value))

    def extend(self, key: K, values: Iterable[V]) -> int:
        """Add elements at the end of a key's list; return the list's new length."""
        first, end, elements = self._row(key)
        added = tuple(values)
        stop = end + len(added)
        if not added:
            return stop - first
        if elements is not None:
            added, end = (*elements, *added), first
            if len(added) <= _SHORT_LENGTH:
                self._rows.put((key,), (first, stop, added))
                return stop - first
        for number, value in enumerate(added, end):
            self._rows.put((key, number), (value,))
        self._rows.put((key,), (first, stop, None))
        return stop - first

    def get(self, key: K) -> tuple[V, ...]:
        """Return the elements of a key, empty without a list; one read for a short list."""
        elements = self._row(key)[2]
        return tuple(self.elements(key)) if elements is None else elements

    def elements(self, key: K, *, reverse: bool = False) -> Iterator[V]:
        """Yield the elements of a key in order, or in reverse; reads long lists lazily."""
        first, end, elements = self._row(key)
        if elements is not None:
            return iter(elements[::-1] if reverse else elements)
        low = self._keys.serialize((key, first))
        high = self._keys.serialize((key, end))
        return (value for _, (value,) in self._rows.scan(low, high, reverse=reverse))

    def length(self, key: K) -> int:
        """Return the number of elements of a key; costs one read."""
        first, end, _ = self._row(key)
        return end - first

    def take_first(self, key: K, count: int) -> tuple[V, ...]:
        """Delete and return the first `count` elements of a key; all if the list is shorter."""
        first, end, elements = self._row(key)
        taken = tuple(islice(self.elements(key), max(count, 0)))
        if not taken:
            return taken
        left = first + len(taken)
        if elements is None:
            for number in range(first, left):
                self._rows.put((key, number), None)
        else:
            elements = elements[len(taken) :]
        self._rows.put((key,), (left, end, elements) if left < end else None)
        return taken

    def lengths(
        self, start: K | None = None, end: K | None = None, *, reverse: bool = False
    ) -> Iterator[tuple[K, int]]:
        """Yield keys with `start <= key < end`, in order, each with its list's length."""
        low = LIST if start is None else self._keys.serialize((start,))
        high = ELEMENT if end is None else self._keys.serialize((end,))
        for (key,), (first, stop, _) in self._rows.scan(low, high, reverse=reverse):
            yield key, stop - first

    def rebuild(self, key: K, number: int, value: V | None) -> None:
        """Set or delete the element with a number, while restoring from a changelog.

        Numbers may be in any order; after the restore, the numbers of a list have no gaps.
        """
        first, end, _ = self._row(key)
        get = self._rows.get
        self._rows.put((key, number), None if value is None else (value,))
        if value is not None:
            alone = first == end
            first = number if alone else min(first, number)
            end = number + 1 if alone else max(end, number + 1)
        if first < end and (get((key, first)) is None or get((key, end - 1)) is None):
            low, high = self._keys.serialize((key, first)), self._keys.serialize((key, end))
            first = next((n for (_, n), _ in self._rows.scan(low, high)), end)
            end = next((n + 1 for (_, n), _ in self._rows.scan(low, high, reverse=True)), first)
        self._rows.put((key,), (first, end, None) if first < end else None)

    def _row(self, key: K) -> _Row:
        return self._rows.get((key,)) or _NO_LIST


def key_of_list(row: bytes) -> bytes | None:
    """Return the ordered key of a list's own row; None for the row of an element."""
    return read_prefix_free(row, 1)[0] if row[:1] == LIST else None


class _KeySerde(CompositeSerde[Any]):
    """The serde of row keys: `(key,)` for a list, `(key, number)` for an element."""

    type_token = tuple

    def __init__(self, key: Serde[Any]) -> None:
        super().__init__("list-key", key)
        self._key = key.ordered

    @override
    def serialize(self, value: tuple[Any, ...]) -> bytes:
        data = write_prefix_free(self._key.serialize(value[0]))
        return LIST + data if len(value) == 1 else ELEMENT + data + sortable_int64(value[1])

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        key, end = read_prefix_free(data, 1)
        found = self._key.deserialize(key)
        return (found,) if data[:1] == LIST else (found, read_int64(data, end))


class _RowSerde(CompositeSerde[Any]):
    """The serde of row values: `(value,)` for an element, `_Row` for a list."""

    type_token = tuple

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("list-row", value)
        self._value = value

    @override
    def serialize(self, value: tuple[Any, ...]) -> bytes:
        if len(value) == 1:
            return ELEMENT + self._value.serialize(value[0])
        first, end, elements = value
        if elements is None:
            return LIST + sortable_int64(first) + sortable_int64(end)
        return SHORT + sortable_int64(first) + joined(map(self._value.serialize, elements))

    @override
    def deserialize(self, data: bytes) -> tuple[Any, ...]:
        tag = data[:1]
        if tag == ELEMENT:
            return (self._value.deserialize(data[1:]),)
        if tag == LIST:
            return read_int64(data, 1), read_int64(data, 9), None
        if tag != SHORT:
            raise DeserializationError(f"expected a row of a list store, got {data[:40]!r}")
        first = read_int64(data, 1)
        elements = tuple(map(self._value.deserialize, divided(data[9:])))
        return first, first + len(elements), elements
