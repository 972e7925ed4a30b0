"""What live stores may offer to those who only read: methods by name, with their own types."""

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
"""Type of what is read."""
P = ParamSpec("P")
"""What else the store's method takes."""


class Gets(Protocol[K_contra, P, T_co]):
    """A store with something for each key."""

    def get(self, key: K_contra, /, *args: P.args, **kwargs: P.kwargs) -> T_co: ...  # noqa: D102


class Holds(Protocol[K_contra]):
    """A store that needs nothing but a key to tell what it has."""

    def get(self, key: K_contra, /) -> object: ...  # noqa: D102


class Ranges(Protocol[K_contra, T_co]):
    """A store whose rows lie by key."""

    def range(
        self, start: K_contra | None = None, end: K_contra | None = None, *, reverse: bool = False
    ) -> Iterator[T_co]:
        """Yield rows with `start <= key < end`, in order of the keys; None leaves a side open."""
        ...


class ScansPrefixes(Protocol[P, T_co]):
    """A store whose rows lie by the bytes of their keys."""

    def prefix_scan(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]: ...  # noqa: D102


class HasHistory(Protocol[K_contra, P, T_co]):
    """A store that knows what a key had before."""

    def history(  # noqa: D102
        self, key: K_contra, /, *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T_co]: ...


class Fetches(Protocol[K_contra, P, T_co]):
    """A store with several rows for each key."""

    def fetch(  # noqa: D102
        self, key: K_contra, /, *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T_co]: ...


class FetchesAll(Protocol[P, T_co]):
    """A store whose rows lie in an order of their kind."""

    def fetch_all(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]: ...  # noqa: D102


class FetchesRange(Protocol[P, T_co]):
    """A store whose rows lie in an order of their kind, and which finds those of some keys."""

    def fetch_range(self, *args: P.args, **kwargs: P.kwargs) -> Iterator[T_co]: ...  # noqa: D102
