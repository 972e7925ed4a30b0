"""The read methods of views: methods of the live store, with its names and types."""

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
from kstreams.views.scan import KeyScan, ViewScan
from kstreams.views.store_reads import StoreReads

__all__ = ("NamedReads",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""
T = TypeVar("T")
"""Type of the result of a read."""
P = ParamSpec("P")
"""The parameters of the store's method after the key, or all parameters."""


class NamedReads(StoreReads[S_co], Generic[S_co]):
    """The part of a view with the live store's read methods, over all partitions.

    A view has those methods of this class that its live store has, with the same arguments and
    results; this includes custom store kinds. Iterations keep the view at its version until they
    end.
    """

    def get(self: NamedReads[Gets[K, P, T]], key: K, /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the value of a key, or the store's value for absent keys."""
        routed_by = self.spec.kind.routed_by(key)
        return self.read_key(routed_by, lambda store: store.get(key, *args, **kwargs))

    def has(self: NamedReads[Holds[K, object]], key: K) -> bool:
        """Return whether the store has a value for a key."""
        kind = self.spec.kind
        return self.read_key(kind.routed_by(key), lambda store: store.get(key)) != kind.absent

    def range(
        self: NamedReads[Ranges[K, T]],
        start: K | None = None,
        end: K | None = None,
        *,
        reverse: bool = False,
    ) -> KeyScan[K, T]:
        """Yield rows with `start <= key < end`, in key order; None means no bound.

        The method `seek(key)` of the result jumps to a key.
        """
        return self._key_range(
            lambda store, low, high, *, reverse: store.range(low, high, reverse=reverse),
            start,
            end,
            reverse=reverse,
        )

    def items(self: NamedReads[Ranges[K, T]]) -> KeyScan[K, T]:
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
        """Yield the versions of a key within a time span."""
        return self.scan_key(key, lambda store: store.history(key, *args, **kwargs))

    def fetch(
        self: NamedReads[Fetches[K, P, T]], key: K, /, *args: P.args, **kwargs: P.kwargs
    ) -> ViewScan[T]:
        """Yield the rows of a key: windows, sessions, slices, or results held back by `emit=`."""
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
        """Yield the rows of `fetch_all` for a range of keys."""
        return self.scan(
            lambda store: store.fetch_range(*args, **kwargs),
            order=self.spec.kind.order(self.spec),
            reverse=bool(kwargs.get("reverse")),
        )
