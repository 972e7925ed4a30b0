"""Reads of a view's store, by functions that get the live store; for all store kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import chain, takewhile
from typing import Any, Generic, Protocol, TypeVar

from kstreams._types import K
from kstreams.aggregators.top_n import C
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.scan import KeyScan, ViewScan
from kstreams.views.version_reader import VersionReader

__all__ = ("StoreReads",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""
S_contra = TypeVar("S_contra", contravariant=True)
"""The live type of a store."""
K_contra = TypeVar("K_contra", contravariant=True)
"""Type of the keys."""
T = TypeVar("T")
"""Type of the result of a read."""
T_co = TypeVar("T_co", covariant=True)
"""Type of the result of a read."""


class _KeyRows(Protocol[S_contra, K_contra, T_co]):
    """Reads a range of keys of a live store."""

    def __call__(
        self, store: S_contra, low: K_contra | None, high: K_contra | None, /, *, reverse: bool
    ) -> Iterator[T_co]:
        """Return the rows with `low <= key < high`, in the order of keys."""
        ...


class StoreReads(Generic[S_co]):
    """The methods of a view that pass the live stores of partitions to functions that only read.

    Methods of a custom store kind are called this way: `view.read_key(member, lambda store:
    store.rank(member))`.

    Args:
        spec: The definition of the store.
        reader: Reads the store at its versions.

    Attributes:
        spec: The definition of the store.
    """

    def __init__(self, spec: StoreSpec[S_co], reader: VersionReader[S_co]) -> None:
        self.spec = spec
        self._reader = reader

    def read(self, look: Callable[[Sequence[S_co]], T]) -> T:
        """Call a function with the live stores of all partitions at one version; return its result.

        Args:
            look: Called with the live stores, by partition.
        """
        return self._reader.read(self._everywhere(), look)

    def read_key(self, key: object, look: Callable[[S_co], T]) -> T:
        """Call a function with the live store of a key's partition, and return its result.

        If the partitioner is not known, the function is called for each partition in turn, until
        its result is not the kind's value for absent keys, usually None.

        Args:
            key: The key that routes the app's records.
            look: Called with the live store.
        """
        absent = self.spec.kind.absent

        def first(stores: Sequence[S_co]) -> T:
            for store in stores[:-1]:
                found = look(store)
                if found != absent:
                    return found
            return look(stores[-1])

        return self._reader.read(self._reader.partitions_of(key), first)

    def scan(
        self,
        rows: Callable[[S_co], Iterable[T]],
        *,
        order: Callable[[T], C],
        reverse: bool = False,
    ) -> ViewScan[T]:
        """Yield the rows of all partitions, merged.

        Args:
            rows: Called with each live store; returns its rows in order.
            order: Returns the sort key of a row.
            reverse: Whether the rows are in descending order.
        """
        return self._reader.scan(
            self._everywhere(),
            lambda stores: merge(*map(rows, stores), key=order, reverse=reverse),
        )

    def scan_key(self, key: object, rows: Callable[[S_co], Iterable[T]]) -> ViewScan[T]:
        """Yield the rows of a key.

        Args:
            key: The key that routes the app's records.
            rows: Called with the live store of the key's partition; returns the rows.
        """
        return self._reader.scan(
            self._reader.partitions_of(key), lambda stores: chain.from_iterable(map(rows, stores))
        )

    def _everywhere(self) -> Sequence[int]:
        return range(self._reader.partitions)

    def _by_key(self, rows: Callable[[S_co], Iterable[T]], *, reverse: bool) -> ViewScan[T]:
        """Yield rows, which are tuples that begin with their key, in key order."""
        return self.scan(rows, order=self._key_order(), reverse=reverse)

    def _key_range(
        self, rows: _KeyRows[S_co, K, T], start: K | None, end: K | None, *, reverse: bool
    ) -> KeyScan[K, T]:
        """Yield rows, tuples that begin with their key, with `start <= key < end` in key order.

        Args:
            rows: Returns the rows of a live store in a range of keys, in order.
            start: The first key; None means no lower bound.
            end: The exclusive end; None means no upper bound.
            reverse: Whether the rows are in descending order.
        """
        order = self._key_order()
        held: list[S_co] = []

        def merged(low: K | None, high: K | None) -> Iterator[T]:
            parts = (rows(store, low, high, reverse=reverse) for store in held)
            return merge(*parts, key=order, reverse=reverse)

        def begin(stores: Sequence[S_co]) -> Iterator[T]:
            held.extend(stores)
            return merged(start, end)

        def rows_from(key: K) -> Iterator[T]:
            place = serialize(key)
            if not reverse:
                before = start is not None and place < serialize(start)
                return merged(start if before else key, end)
            if end is not None and serialize(end) <= place:
                return merged(start, end)
            if start is not None and place < serialize(start):
                return iter(())
            return chain(self._at_key(held, rows, key), merged(start, key))

        serialize = self.spec.key.ordered.serialize
        return KeyScan(self._reader.scan(self._everywhere(), begin), rows_from)

    def _at_key(self, stores: Iterable[S_co], rows: _KeyRows[S_co, K, T], key: K) -> Iterator[T]:
        """Yield the rows of one key from live stores, one store after the other."""
        order = self._key_order()
        place = self.spec.key.ordered.serialize(key)
        for store in stores:
            yield from takewhile(
                lambda row: order(row) == place, rows(store, key, None, reverse=False)
            )

    def _key_order(self) -> Callable[[Any], bytes]:
        data = self.spec.key.ordered.serialize
        return lambda row: data(row[0])
