"""Reads of a view's store by functions of the live store, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import merge
from itertools import chain
from typing import Any, Generic, TypeVar

from kstreams.aggregators.top_n import C
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.scan import ViewScan
from kstreams.views.version_reader import VersionReader

__all__ = ("StoreReads",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""
T = TypeVar("T")
"""Type of what is read."""


class StoreReads(Generic[S_co]):
    """The part of a view that hands out the live stores of partitions, to be read only.

    What a kind of store offers to views by the names of its own is made of these:
    `view.read_key(member, lambda store: store.rank(member))`.

    Args:
        spec: The store's definition.
        reader: Its versions.

    Attributes:
        spec: The store's definition.
    """

    def __init__(self, spec: StoreSpec[S_co], reader: VersionReader[S_co]) -> None:
        self.spec = spec
        self._reader = reader

    def read(self, look: Callable[[Sequence[S_co]], T]) -> T:
        """Return what a function makes of all partitions, at one version.

        Args:
            look: Called with the live stores, by partition.
        """
        return self._reader.read(self._everywhere(), look)

    def read_key(self, key: object, look: Callable[[S_co], T]) -> T:
        """Return what a function makes of the partition of a key.

        Where the rule that routes keys is not known, of the first partition where it is not
        what the kind's stores have for absent keys: None, as a rule.

        Args:
            key: What the app's records are routed by.
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
            order: What they are sorted by.
            reverse: Whether they come from the last to the first.
        """
        return self._reader.scan(
            self._everywhere(),
            lambda stores: merge(*map(rows, stores), key=order, reverse=reverse),
        )

    def scan_key(self, key: object, rows: Callable[[S_co], Iterable[T]]) -> ViewScan[T]:
        """Yield the rows of a key.

        Args:
            key: What the app's records are routed by.
            rows: Called with the live store of its partition; returns the rows.
        """
        return self._reader.scan(
            self._reader.partitions_of(key), lambda stores: chain.from_iterable(map(rows, stores))
        )

    def _everywhere(self) -> Sequence[int]:
        return range(self._reader.partitions)

    def _by_key(self, rows: Callable[[S_co], Iterable[T]], *, reverse: bool) -> ViewScan[T]:
        """Yield rows that begin with their key, in the order of keys."""
        data = self.spec.key.ordered.serialize

        def order(row: Any) -> bytes:  # noqa: ANN401  # erased types
            return data(row[0])

        return self.scan(rows, order=order, reverse=reverse)
