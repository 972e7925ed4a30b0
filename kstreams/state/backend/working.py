"""The two contracts that a state backend implements: bytes in, bytes out.

A backend keeps one directory a task and version. The library copies a committed
version for each attempt (`StateBackend.branch`), opens the copy, writes a batch's
changes in one atomic step, closes it and names it as the next version. A backend
therefore never needs locks, a write-ahead log or fsync: the durable log has the truth.

A custom backend is a file of some eighty lines (`examples/custom_store.py`); prove it with
`kstreams.testing.WorkingStoreContract`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = (
    "Changes",
    "CopiesVersions",
    "KeyRange",
    "Pair",
    "SharesVersions",
    "StateBackend",
    "StaysOpen",
    "StoreChanges",
    "WorkingStore",
)

Pair = tuple[bytes, "bytes | None"]
"""A key and its value; None is a deletion."""
KeyRange = tuple[bytes, bytes]
"""All keys with `start <= key < end`, bytewise."""


@dataclass(frozen=True)
class StoreChanges:
    """The changes of one batch in a store: ranges are deleted, then pairs are put.

    A pair may be in a deleted range; it stays. False without changes.

    Attributes:
        pairs: Keys and new values, None for a deletion. Keys ascend, each once.
        ranges: Nonempty ranges to delete; they ascend, and neither overlap nor touch.
    """

    pairs: Sequence[Pair] = ()
    ranges: Sequence[KeyRange] = ()

    def __bool__(self) -> bool:
        """Return whether anything changes."""
        return bool(self.pairs or self.ranges)


Changes = Mapping[str, StoreChanges]
"""The changes of one batch, by store name."""


class WorkingStore(Protocol):
    """One task's state, opened: an ordered map from bytes to bytes for each store."""

    def get(self, store: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None when it has none."""
        ...

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in the order of the keys."""
        ...

    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield pairs with `start <= key < end` in bytewise order; None leaves a side open.

        The iterator need not see later writes.
        """
        ...

    def count(self, store: str) -> int:
        """Return about how many keys a store has; an estimate will do."""
        ...

    def write(self, changes: Changes) -> None:
        """Apply all changes in one atomic step: of each store its ranges, then its pairs."""
        ...

    def close(self) -> None:
        """Flush all data to the directory and release it; a second call does nothing."""
        ...


class StateBackend(Protocol):
    """The settings of a kind of working store, which open and branch stores; picklable."""

    @property
    def name(self) -> str:
        """Return the backend's name for logs and errors, such as `rocksdb`."""
        ...

    @property
    def directory(self) -> str | None:
        """Return where local files go, a disk of the worker; None leaves it to the library."""
        ...

    @property
    def log(self) -> ObjectStoreSettings | None:
        """Return where deltas and snapshots go; None is the checkpoint."""
        ...

    def open(self, directory: Path, stores: Sequence[str]) -> WorkingStore:
        """Open the store of a directory; a missing or empty directory is an empty state.

        Raises:
            StoreOpenError: The directory cannot be opened. The message has the directory and the
                cause.
        """
        ...

    def branch(self, source: Path, target: Path) -> bool:
        """Copy the closed store in `source` to `target` cheaply (hard links).

        Returns:
            False if the source cannot be branched (it is incomplete, or not in this process any
            more); the caller then restores from the durable log. The call may consume the source.
        """
        ...

    def remove(self, directory: Path) -> None:
        """Delete a closed version or a dead attempt; one that is not there is no error."""
        ...


@runtime_checkable
class CopiesVersions(StateBackend, Protocol):
    """A backend that can copy a version cheaply and leave it unchanged.

    The upkeep merges deltas and creates snapshots from the copy, in the background. With other
    backends, a commit with due upkeep waits for it.
    """

    def copy(self, source: Path, target: Path) -> bool:
        """Copy the closed store in `source` to `target`; the source stays usable.

        Returns:
            False if the source is incomplete.
        """
        ...


@runtime_checkable
class StaysOpen(CopiesVersions, Protocol):
    """A backend that is expensive to open and close: a version stays open between batches.

    The changes of small batches are kept in memory, and written when they have grown, or with a
    larger batch. `branch` must not change its source.
    """

    @property
    def open_bytes(self) -> int:
        """Return how much memory a task's changes may take before they are written; 0: none."""
        ...


@runtime_checkable
class SharesVersions(StateBackend, Protocol):
    """A backend whose closed versions several processes can read at the same time.

    Global tables have one copy a machine with it; with other backends each worker keeps one in
    its memory.
    """

    def open_shared(self, directory: Path, stores: Sequence[str]) -> WorkingStore:
        """Open a closed version read-only; it stays unchanged, also when the store is closed.

        The store stays readable after its directory was removed.

        Raises:
            StoreOpenError: The directory is incomplete, or cannot be opened.
        """
        ...
