"""The reads that views share with stores: by the same names, with the store's own types."""

from __future__ import annotations

from typing import Generic, ParamSpec, TypeVar

from kstreams._types import K
from kstreams.state.stores.readable import (
    Fetches,
    FetchesAll,
    FetchesRange,
    Gets,
    HasHistory,
    Holds,
    Ranges,
    ScansPrefixes,
)
from kstreams.views.scan import ViewScan
from kstreams.views.store_reads import StoreReads

__all__ = ("NamedReads",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""
T = TypeVar("T")
"""Type of what is read."""
P = ParamSpec("P")
"""What else the store's method takes."""


class NamedReads(StoreReads[S_co], Generic[S_co]):
    """The part of a view that reads as the live store does, over all partitions.

    A view of a store offers those of these methods that the live store has, and they take
    and yield what its methods do: types and arguments follow from there, for custom kinds
    of stores too. Iterations keep the view at its version until they end.
    """

    def get(self: NamedReads[Gets[K, P, T]], key: K, /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the store has for a key; what that is for none, the store says."""
        routed_by = self.spec.kind.routed_by(key)
        return self.read_key(routed_by, lambda store: store.get(key, *args, **kwargs))

    def has(self: NamedReads[Holds[K]], key: K) -> bool:
        """Return whether the store has anything for a key."""
        kind = self.spec.kind
        return self.read_key(kind.routed_by(key), lambda store: store.get(key)) != kind.absent

    def range(
        self: NamedReads[Ranges[K, T]],
        start: K | None = None,
        end: K | None = None,
        *,
        reverse: bool = False,
    ) -> ViewScan[T]:
        """Yield rows with `start <= key < end`, in key order; None leaves a side open."""
        return self._by_key(lambda store: store.range(start, end, reverse=reverse), reverse=reverse)

    def items(self: NamedReads[Ranges[K, T]]) -> ViewScan[T]:
        """Yield all rows, in key order."""
        return self.range()

    def prefix_scan(
        self: NamedReads[ScansPrefixes[P, T]], *args: P.args, **kwargs: P.kwargs
    ) -> ViewScan[T]:
        """Yield rows whose key's bytes start with a prefix, in key order."""
        reverse = bool(kwargs.get("reverse"))
        return self._by_key(lambda store: store.prefix_scan(*args, **kwargs), reverse=reverse)

    def history(
        self: NamedReads[HasHistory[K, P, T]], key: K, /, *args: P.args, **kwargs: P.kwargs
    ) -> ViewScan[T]:
        """Yield what a key had at any time of a span."""
        return self.scan_key(key, lambda store: store.history(key, *args, **kwargs))

    def fetch(
        self: NamedReads[Fetches[K, P, T]], key: K, /, *args: P.args, **kwargs: P.kwargs
    ) -> ViewScan[T]:
        """Yield a key's rows: windows, sessions, slices, or results that are held back."""
        return self.scan_key(key, lambda store: store.fetch(key, *args, **kwargs))

    def fetch_all(
        self: NamedReads[FetchesAll[P, T]], *args: P.args, **kwargs: P.kwargs
    ) -> ViewScan[T]:
        """Yield all rows, in the order of the store."""
        return self.scan(
            lambda store: store.fetch_all(*args, **kwargs),
            order=self.spec.kind.order(self.spec),
            reverse=bool(kwargs.get("reverse")),
        )

    def fetch_range(
        self: NamedReads[FetchesRange[P, T]], *args: P.args, **kwargs: P.kwargs
    ) -> ViewScan[T]:
        """Yield what `fetch_all` yields, of some keys."""
        return self.scan(
            lambda store: store.fetch_range(*args, **kwargs),
            order=self.spec.kind.order(self.spec),
            reverse=bool(kwargs.get("reverse")),
        )
