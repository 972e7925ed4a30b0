"""Protocols of the read methods of stores, one per method."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ParamSpec, Protocol, TypeVar

__all__ = (
    "Fetches",
    "FetchesAll",
    "FetchesRange",
    "Gets",
    "HasHistory",
    "Holds",
    "Ranges",
    "ScansPrefixes",
)

K_contra = TypeVar("K_contra", contravariant=True)
"""Type of the keys."""
T_co = TypeVar("T_co", covariant=True)
"""Type of the results."""
P = ParamSpec("P")
"""The further parameters of the store's method."""


class Gets(Protocol[K_contra, P, T_co]):
    """A store that can be read by key."""

    def get(self, key: K_contra, /, *args: P.args, **kwargs: P.kwargs) -> T_co: ...  # noqa: D102


class Holds(Protocol[K_contra, T_co]):
    """A store whose `get` takes only a key."""

    def get(self, key: K_contra, /) -> T_co: ...  # noqa: D102


class Ranges(Protocol[K_contra, T_co]):
    """A store whose rows are ordered by key."""

    def range(
        self, start: K_contra | None = None, end: K_contra | None = None, *, reverse: bool = False
    ) -> Iterator[T_co]:
        """Yield rows with `start <= key < end`, in order of the keys; None is unbounded."""
        ...


class ScansPrefixes(Protocol[P, T_co]):
    """A store whose rows are ordered by the bytes of keys."""

    def prefix_scan(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]: ...  # noqa: D102


class HasHistory(Protocol[K_contra, P, T_co]):
    """A store that keeps a key's earlier values."""

    def history(  # noqa: D102
        self, key: K_contra, /, *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T_co]: ...


class Fetches(Protocol[K_contra, P, T_co]):
    """A store with several rows for each key."""

    def fetch(  # noqa: D102
        self, key: K_contra, /, *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T_co]: ...


class FetchesAll(Protocol[P, T_co]):
    """A store that yields all rows in the order of its kind."""

    def fetch_all(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]:
        """Yield all rows, in the order of the kind."""
        ...


class FetchesRange(Protocol[P, T_co]):
    """A store that yields the rows of a range of keys in the order of its kind."""

    def fetch_range(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]: ...  # noqa: D102
