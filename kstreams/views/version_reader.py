"""The interface through which a view reads live stores of partitions at one version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from kstreams.views.scan import ViewScan

__all__ = ("VersionReader",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""
T = TypeVar("T")
"""Type of the result of a read."""


class VersionReader(Protocol[S_co]):
    """Reads one store, at one committed version a call."""

    @property
    def partitions(self) -> int:
        """Return how many tasks have a part of the store."""
        ...

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return where a key may be: one partition, or all when the rule is not known."""
        ...

    def read(self, partitions: Sequence[int], look: Callable[[Sequence[S_co]], T]) -> T:
        """Call a function with the live stores of partitions, and return its result."""
        ...

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[S_co]], Iterator[T]]
    ) -> ViewScan[T]:
        """Begin an iteration over the live stores of partitions, which stays at its version."""
        ...
