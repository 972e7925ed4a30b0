"""One version of a store, held: it stays what it is, whatever is committed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Generic, Protocol, TypeVar

from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.times import FixedTimes
from kstreams.state.stores.spec import S
from kstreams.views.replica import State
from kstreams.views.scan import ViewScan

__all__ = ("Pinned", "PinnedFrom")

T = TypeVar("T")
"""Type of what is read."""


class PinnedFrom(Protocol):
    """What a pinned version asks of whoever moves on."""

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """Return what is held for each look: a working copy is for one thread at a time."""
        ...

    @property
    def life(self) -> str:
        """Return what names the line of versions."""
        ...

    @property
    def partitions(self) -> int:
        """Return how many tasks have a part of the store."""
        ...

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return where a key may be: one partition, or all when the rule is not known."""
        ...


class Pinned(Generic[S]):
    """A `VersionReader` of one committed version, as long as it is referred to.

    It costs what has changed since: hold it for the length of a read. When the app was reset or
    upgraded meanwhile its reads raise `StoreError`.

    Args:
        reader: Has the version.
        batch: Of the version; None before the first.
        wall_ms: When that was committed.
        states: Its partitions that will be read.

    Attributes:
        batch: As above.
        wall_ms: As above, in ms since the epoch by the app's clock.
        life: Names the line of versions that it is one of.
        partitions: How many tasks have a part of the store.
    """

    def __init__(
        self,
        reader: PinnedFrom,
        batch: int | None,
        wall_ms: int | None,
        states: Mapping[int, State[S]],
    ) -> None:
        self.batch = batch
        self.wall_ms = wall_ms
        self.life = reader.life
        self.partitions = reader.partitions
        self._of = reader.partitions_of
        self._lock = reader.lock
        self._states = states

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return where a key may be, of the partitions that will be read."""
        return tuple(self._states) if len(self._states) == 1 else self._of(key)

    def read(self, partitions: Sequence[int], look: Callable[[Sequence[S]], T]) -> T:
        """Return what a function makes of the live stores of partitions."""
        with self._lock:
            return look([self._states[each].live() for each in partitions])

    def read_stored(self, partition: int, look: Callable[[WorkingStore, FixedTimes], T]) -> T:
        """Look at the encoded rows of one partition, and at the times that they expire by."""
        with self._lock:
            state = self._states[partition]
            return look(state.stored, state.times)

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[S]], Iterator[T]]
    ) -> ViewScan[T]:
        """Begin an iteration over the live stores of partitions."""
        with self._lock:
            held = tuple(self._states[each] for each in partitions)
            rows = begin([state.live() for state in held])
        return ViewScan(rows, self._lock, lambda: len(held))
