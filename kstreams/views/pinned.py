"""A pinned version of a store, which later commits do not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Generic, Protocol, TypeVar

from kstreams.state.backend.working import WorkingStore
from kstreams.state.cache.times import FixedTimes
from kstreams.state.stores.spec import S
from kstreams.views.layered_copy import State
from kstreams.views.scan import ViewScan

__all__ = ("Pinned", "PinnedFrom")

T = TypeVar("T")
"""Type of the result of a read."""


class PinnedFrom(Protocol):
    """The reader interface that a pinned version needs."""

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """The lock to hold during each read: a working copy serves one thread at a time."""
        ...

    @property
    def epoch(self) -> str:
        """The id of the sequence of versions, which changes when the app is reset."""
        ...

    @property
    def partitions(self) -> int:
        """The number of partitions of the store: one per task."""
        ...

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return the partitions that may have a key: all if the partitioner is not known."""
        ...


class Pinned(Generic[S]):
    """A `VersionReader` of one committed version, valid while it is referenced.

    All changes since that version stay in memory while the object is referenced, so keep it for one
    read only. After a reset or an upgrade of the app, reads raise `StoreError`.

    Args:
        reader: The reader that has the version.
        batch: Batch of the version; None before the first.
        wall_ms: Time of the commit, ms since the epoch.
        states: The states of the partitions to read.
        store: Name of the store.

    Attributes:
        batch: Batch of the version; None before the first.
        wall_ms: Time of the commit by the app's clock, ms since the epoch.
        epoch: Id of the sequence of versions.
        partitions: Number of partitions of the store: one per task.
    """

    def __init__(
        self,
        reader: PinnedFrom,
        batch: int | None,
        wall_ms: int | None,
        states: Mapping[int, State[S]],
        store: str,
    ) -> None:
        self.batch = batch
        self.wall_ms = wall_ms
        self.epoch = reader.epoch
        self.partitions = reader.partitions
        self._of = reader.partitions_of
        self._lock = reader.lock
        self._states = states
        self._store = store

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return those pinned partitions that may have a key."""
        return tuple(self._states) if len(self._states) == 1 else self._of(key)

    def read(self, partitions: Sequence[int], look: Callable[[Sequence[S]], T]) -> T:
        """Call a function with the live stores of partitions, and return its result."""
        with self._lock:
            return look([self._states[each].live() for each in partitions])

    def read_stored(self, partition: int, look: Callable[[WorkingStore, FixedTimes], T]) -> T:
        """Call a function with a partition's encoded rows and expiry times; return its result."""
        with self._lock:
            state = self._states[partition]
            return look(state.stored, state.times)

    def stored_values(self, partition: int, rows: Sequence[bytes]) -> list[bytes | None]:
        """Return the encoded values for encoded keys of one partition; None for a missing key."""
        return self.read_stored(partition, lambda stored, _: stored.multi_get(self._store, rows))

    def stored_pairs(self, partition: int, chunk: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield the encoded rows of one partition in key order; reads `chunk` rows at a time."""
        start: bytes | None = None
        while True:

            def rows(
                stored: WorkingStore, _: FixedTimes, start: bytes | None = start
            ) -> list[tuple[bytes, bytes]]:
                return list(islice(stored.scan(self._store, start, None), chunk))

            found = self.read_stored(partition, rows)
            yield from found
            if len(found) < chunk:
                return
            start = found[-1][0] + b"\x00"

    def is_readable(self) -> bool:
        """Return whether the working copies still exist; an upgrade or a reset deletes them."""
        with self._lock:
            return not any(state.copy.closed for state in self._states.values())

    def changed_since(self, older: Pinned[S], partition: int) -> set[bytes] | None:
        """Return the encoded keys of a partition's rows that changed after an older version.

        Returns None if the keys are not known, because the partition was restored in between.
        """
        with self._lock:
            return self._states[partition].changed_since(older._states[partition])

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[S]], Iterator[T]]
    ) -> ViewScan[T]:
        """Start an iteration over rows of the live stores of partitions.

        Args:
            partitions: The partitions.
            begin: Called with the live stores; returns the rows.
        """
        with self._lock:
            held = tuple(self._states[each] for each in partitions)
            rows = begin([state.live() for state in held])
        return ViewScan(rows, self._lock, lambda: len(held))
