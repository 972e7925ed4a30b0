"""The two contracts that a state backend implements, `StateBackend` and `WorkingStore`.

A backend keeps one directory per task and version. The library copies a committed
version for each attempt (`StateBackend.branch`), opens the copy, writes a batch's
changes in one atomic step, closes the copy and renames it to the next version. A backend
therefore needs no locks, write-ahead log or fsync: the durable log is authoritative.

A custom backend needs some eighty lines (`examples/custom_store.py`);
`kstreams.testing.WorkingStoreContract` tests it.
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
"""A key and its new value; None deletes the key."""
KeyRange = tuple[bytes, bytes]
"""All keys with `start <= key < end`, bytewise."""


@dataclass(frozen=True)
class StoreChanges:
    """The changes of one batch to a store: its ranges are deleted first, then its pairs are put.

    A pair in a deleted range is put nevertheless. An object without changes is false.

    Attributes:
        pairs: Keys and new values, None for a deletion. Keys ascend without duplicates.
        ranges: Nonempty ranges to delete, ascending; ranges neither overlap nor touch.
    """

    pairs: Sequence[Pair] = ()
    ranges: Sequence[KeyRange] = ()

    def __bool__(self) -> bool:
        """Return whether there are changes."""
        return bool(self.pairs or self.ranges)


Changes = Mapping[str, StoreChanges]
"""The changes of one batch, by store name."""


class WorkingStore(Protocol):
    """The open state of one task: for each store, an ordered map from bytes to bytes."""

    def get(self, store: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the key does not exist."""
        ...

    def multi_get(self, store: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in the order of the keys; None for missing keys."""
        ...

    def scan(
        self, store: str, start: bytes | None, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield pairs with `start <= key < end` in bytewise order; None is unbounded.

        The iterator may or may not include later writes.
        """
        ...

    def count(self, store: str) -> int:
        """Return the number of keys of a store; an estimate is enough."""
        ...

    def write(self, changes: Changes) -> None:
        """Apply all changes in one atomic step: for each store its ranges, then its pairs."""
        ...

    def close(self) -> None:
        """Flush all data to the directory and release it; a second call does nothing."""
        ...


class StateBackend(Protocol):
    """The picklable settings of a kind of working store; opens, copies and removes stores."""

    @property
    def name(self) -> str:
        """Return the backend's name for logs and errors, such as `rocksdb`."""
        ...

    @property
    def directory(self) -> str | None:
        """Return the worker's directory for local files; None: the library's default."""
        ...

    @property
    def log(self) -> ObjectStoreSettings | None:
        """Return the durable log of deltas and snapshots; None: in the checkpoint."""
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
            False if the source cannot be copied (it is incomplete, or no longer in this process);
            the caller then restores from the durable log. The call may remove the source.
        """
        ...

    def remove(self, directory: Path) -> None:
        """Delete the directory of a closed version or failed attempt, if it exists."""
        ...


@runtime_checkable
class CopiesVersions(StateBackend, Protocol):
    """A backend that can copy a version cheaply and leave it unchanged.

    The library merges deltas and creates snapshots from the copy, in the background (upkeep). With
    other backends, a commit waits until its due upkeep is done.
    """

    def copy(self, source: Path, target: Path) -> bool:
        """Copy the closed store in `source` to `target`; the source stays usable.

        Returns:
            False if the source is incomplete.
        """
        ...


@runtime_checkable
class StaysOpen(CopiesVersions, Protocol):
    """A backend that is expensive to open and close, so that versions stay open between batches.

    The changes of small batches are kept in memory until they exceed `open_bytes` or a larger batch
    is written. `branch` must not change its source.
    """

    @property
    def open_bytes(self) -> int:
        """Return the maximum bytes of a task's changes in memory; 0: no version stays open."""
        ...


@runtime_checkable
class SharesVersions(StateBackend, Protocol):
    """A backend whose closed versions several processes can read at the same time.

    With such a backend, a machine has one copy of each global table; with other backends each
    worker keeps a copy in its memory.
    """

    def open_shared(self, directory: Path, stores: Sequence[str]) -> WorkingStore:
        """Open a closed version read-only; closing the store leaves the version unchanged.

        The store stays readable after its directory was removed.

        Raises:
            StoreOpenError: The directory is incomplete, or cannot be opened.
        """
        ...
