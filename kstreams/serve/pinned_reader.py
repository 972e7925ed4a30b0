"""A reader that stands still at one version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from kstreams.views.reader import Reader
from kstreams.views.scan import ViewScan

__all__ = ("PinnedReader",)

T = TypeVar("T")
"""Type of what is read."""


class PinnedReader:
    """A `VersionReader` at one version, whatever is committed meanwhile.

    Args:
        reader: Has the version.
        at: The batch.
    """

    def __init__(self, reader: Reader[Any], at: int | None) -> None:
        self._reader = reader
        self._at = at

    @property
    def partitions(self) -> int:
        """How many tasks have a part of the store."""
        return self._reader.partitions

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return where a key may be."""
        return self._reader.partitions_of(key)

    def read(self, partitions: Sequence[int], look: Callable[[Sequence[Any]], T]) -> T:
        """Look at partitions."""
        return self._reader.read(partitions, look, at=self._at)

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[Any]], Iterator[T]]
    ) -> ViewScan[T]:
        """Begin an iteration."""
        return self._reader.pinned(partitions, begin, at=self._at)
