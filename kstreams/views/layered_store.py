"""A read-only working store of a version: a base store with layers of newer changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice, repeat
from operator import itemgetter

from typing_extensions import override

from kstreams.errors import StoreError, Where
from kstreams.state.backend.key_ranges import covers
from kstreams.state.backend.working import Changes, Pair, StoreChanges, WorkingStore

__all__ = ("Layer", "LayeredStore")

_MISSING = object()
_BLOCK = 2000


class Layer:
    """The immutable changes to one store from one object of the durable log.

    Args:
        changes: The decoded changes.
        number: Position in the order of layers of a working copy.
        evicts: Whether the layer removes rows from the copy only; the app's state still has them.
    """

    __slots__ = ("changes", "evicts", "number", "pairs")

    def __init__(self, changes: StoreChanges, number: int, evicts: bool = False) -> None:
        self.changes = changes
        self.number = number
        self.evicts = evicts
        self.pairs: dict[bytes, bytes | None] = {}
        pairs = iter(changes.pairs)
        while block := list(islice(pairs, _BLOCK)):  # other threads come between
            self.pairs.update(block)

    def is_in_deleted_range(self, key: bytes) -> bool:
        """Return whether a key lies in a range that the layer deletes."""
        return bool(self.changes.ranges) and covers(self.changes.ranges, key)

    def scan(
        self, start: bytes | None, end: bytes | None, *, reverse: bool
    ) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield the layer's pairs with `start <= key < end`, in order; value None is a deletion."""
        pairs: Sequence[Pair] = self.changes.pairs
        low = 0 if start is None else bisect_left(pairs, start, key=itemgetter(0))
        high = len(pairs) if end is None else bisect_left(pairs, end, key=itemgetter(0))
        places = range(low, high)
        return (pairs[place] for place in (reversed(places) if reverse else places))


class LayeredStore(WorkingStore):
    """A read-only `WorkingStore` of one store at one version.

    The owner of the base may write the layers into it, which does not change the results of reads.

    Args:
        name: Name of the store.
        base: The store below the layers.
        layers: The changes since the base, newest first.
    """

    def __init__(self, name: str, base: WorkingStore, layers: tuple[Layer, ...]) -> None:
        self._name = name
        self._base = base
        self._layers = layers

    @override
    def get(self, store: str, key: bytes) -> bytes | None:
        for layer in self._layers:
            found = layer.pairs.get(key, _MISSING)
            if found is not _MISSING:
                return found  # type: ignore[return-value]  # bytes or None: not the mark
            if layer.is_in_deleted_range(key):
                return None
        return self._base.get(store, key)

    @override
    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        if not self._layers:
            return self._base.multi_get(store, keys)
        return [self.get(store, key) for key in keys]

    @override
    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        below = self._base.scan(store, start, end, reverse=reverse)
        if not self._layers:
            return below
        above = [layer.scan(start, end, reverse=reverse) for layer in self._layers]
        sources = [zip(repeat(depth), pairs) for depth, pairs in enumerate([*above, below])]
        return self._newest(merge(*sources, key=_key, reverse=reverse))

    def _newest(self, found: Iterator[tuple[int, Pair]]) -> Iterator[tuple[bytes, bytes]]:
        """Yield each key once, with its value in the newest layer; omit deleted keys."""
        last: bytes | None = None
        for depth, (key, value) in found:  # of equal keys the newest comes first
            if key == last:
                continue
            last = key
            if value is None or any(
                layer.is_in_deleted_range(key) for layer in self._layers[:depth]
            ):
                continue
            yield key, value

    def count(self, store: str) -> int:
        """Return the number of keys of a store; an estimate if the base returns an estimate."""
        if any(layer.changes.ranges for layer in self._layers):
            return sum(1 for _ in self.scan(store, None, None))
        newest: dict[bytes, bytes | None] = {}
        for layer in reversed(self._layers):
            newest.update(layer.pairs)
        before = self._base.multi_get(store, list(newest))
        more = sum(value is not None for value in newest.values())
        return self._base.count(store) + more - sum(value is not None for value in before)

    def write(self, changes: Changes) -> None:
        """Raise `StoreError`: a committed version is read-only."""
        raise StoreError("a view is read-only", where=Where(store=self._name))

    def close(self) -> None:
        """Do nothing: other states share the base."""


def _key(found: tuple[int, Pair]) -> bytes:
    return found[1][0]
