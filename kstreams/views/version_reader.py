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
    """Reads one store; each call reads one committed version.

    A live store is the object that a processor gets for the store, such as a `KeyValueStore`; here
    with the rows of one partition at that version.
    """

    @property
    def partitions(self) -> int:
        """The number of partitions of the store: one per task."""
        ...

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return the partitions that may have a key: all if the partitioner is not known."""
        ...

    def read(self, partitions: Sequence[int], look: Callable[[Sequence[S_co]], T]) -> T:
        """Call a function with the live stores of partitions, and return the function's result.

        Args:
            partitions: The partitions.
            look: Called with one live store per partition, in this order.
        """
        ...

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[S_co]], Iterator[T]]
    ) -> ViewScan[T]:
        """Start an iteration over rows of the live stores of partitions, at one version.

        Args:
            partitions: The partitions.
            begin: Called with the live stores; returns the rows.
        """
        ...
