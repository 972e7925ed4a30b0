"""Versions that stay open from batch to batch, with the changes of small batches in memory.

An open version has a working store, the base. A small state is resident: the base has all rows in
memory. Otherwise the base is a database in its own directory, which is locked by this process.

A small batch writes nothing to the disk. Its changes are kept separately until the next batch
starts from the pointer of the small batch, which proves that the small batch was committed; then
the changes are added to the resident rows, or to buffers over the database. A retry of the small
batch starts from the previous pointer, so its changes are dropped. A batch with any other pointer
does not use the open version.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from weakref import finalize

from kstreams.clock import Clock, SystemClock, steady_ms, to_ms
from kstreams.errors import StoreError
from kstreams.state.backend.working import Changes, StateBackend, WorkingStore
from kstreams.state.log.pointer import Pointer
from kstreams.state.versions.background import VersionCopy
from kstreams.state.versions.buffered_store import BufferedStore
from kstreams.state.versions.change_buffer import ChangeBuffer, memory_bytes, memory_of
from kstreams.state.versions.local import LocalAttempt, LocalVersions
from kstreams.state.versions.resident_store import RESIDENT_BYTES, ResidentStore

__all__ = ("OpenVersion", "OpenVersions")

_SMALL_PART = 8
_MOST_RANGES = 256
_MOST_OPEN = 16
"""A version has some ten open files, and a process often may have only 1,024."""
_MOST_BYTES = 128 * 1024 * 1024
_IDLE = timedelta(minutes=2)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _NextVersion:
    """A recorded next version, with its changes and their memory; it may not be committed."""

    version_id: str
    changes: Changes
    size_bytes: int


@dataclass
class OpenVersion:
    """An open version, for one attempt at a time.

    Attributes:
        versions: The versions of the task on this worker.
        directory: The directory of the version.
        backend: The backend that opened it.
        base: The working store with the stored rows; only `write` writes to it.
        stores: The names of the stores that the base was opened with.
        source: The attempt that the base was copied from, and the version number of the base.
        version_id: The version id of the base with the buffers.
        most_bytes: The maximum bytes of the buffers.
    """

    versions: LocalVersions
    directory: LocalAttempt
    backend: StateBackend
    base: WorkingStore
    stores: Collection[str]
    source: tuple[str, int]
    version_id: str
    most_bytes: int
    _buffers: dict[str, ChangeBuffer] = field(default_factory=dict)
    _next: _NextVersion | None = None

    @property
    def resident(self) -> ResidentStore | None:
        """The base if all rows are in memory; otherwise None."""
        base = self.base
        return base if isinstance(base, ResidentStore) and base.resident else None

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the buffers, resident rows and recorded changes, in bytes."""
        resident = self.resident
        rows = 0 if resident is None else resident.size_bytes
        rows += 0 if self._next is None else self._next.size_bytes
        return rows + sum(buffer.size_bytes for buffer in self._buffers.values())

    def reads(self) -> BufferedStore:
        """Return a read-only store for an attempt: the base's rows with the buffered changes."""
        return BufferedStore(self.base, self._buffers)

    def has_room(self, changes: Changes) -> bool:
        """Return whether changes are small and fit into the buffers, or with the resident rows."""
        if (resident := self.resident) is not None:
            return resident.fits(changes)
        most = min(self.most_bytes // _SMALL_PART, self.most_bytes - self.size_bytes)
        ranges = sum(len(each.ranges) for each in self._buffers.values())
        for changed in changes.values():
            most -= memory_bytes(changed, most)
            ranges += len(changed.ranges)
            if most < 0:
                return False
        return ranges <= _MOST_RANGES

    def follow(self, pointer: Pointer, changes: Changes) -> None:
        """Keep the changes of the next version until the next attempt shows if it was committed.

        Unless the rows are resident, the method also records the next version on disk, so that
        another process can restore it from this version's base and the deltas.

        Raises:
            StoreError: The disk is full or cannot be written.
        """
        version, version_id = pointer.version, pointer.version_id
        following = _NextVersion(version_id, changes, memory_of(changes))
        if self.resident is not None:
            self._next = following
            return
        with self.versions.exclusive():
            self.versions.publish_base(version, version_id, self.directory, self.source)
        self._next = following
        self.versions.sweep(version - 2, version)

    def copy(self) -> VersionCopy | None:
        """Return a copy of the version that `follow` was called with; None for a database."""
        if (resident := self.resident) is None or self._next is None:
            return None
        rows = resident.copy(self._next.changes)
        return VersionCopy(lambda: rows, lambda: None)

    def advance_to(self, version_id: str) -> bool:
        """Make this object the version with an id, if possible; return whether it is that version.

        If `follow` has recorded the changes of a next version with this id, they are added to the
        buffers. Changes of a next version with another id are dropped: it was not committed.

        Args:
            version_id: The id of the committed version.
        """
        following, self._next = self._next, None
        if following is not None and following.version_id == version_id:
            self.version_id = version_id
            self._add(following)
        return self.version_id == version_id

    def _add(self, following: _NextVersion) -> None:
        if (resident := self.resident) is not None:
            resident.apply(following.changes, following.size_bytes)
            return
        for store, changed in following.changes.items():
            self._buffers.setdefault(store, ChangeBuffer()).apply(changed)

    def write(self) -> None:
        """Write the buffers to the base, which then has the current version.

        Raises:
            StoreError: The base cannot be written; close the version.
        """
        if self._buffers:
            self.base.write({store: each.changes() for store, each in self._buffers.items()})
            self._buffers = {}

    def close(self) -> None:
        """Close the version without writing it, and remove its directory.

        If the removal fails, `LocalVersions.sweep` retries it.
        """
        try:
            if (resident := self.resident) is not None:
                resident.discard()
            else:
                self.base.close()
        except StoreError as error:
            _LOG.warning("cannot close a version, opening it again later: %s", error)
        finally:
            self._remove()

    def _remove(self) -> None:
        try:
            self.versions.discard(self.directory)
        except StoreError as error:
            _LOG.warning("cannot remove a version, trying again later: %s", error)


@dataclass(frozen=True)
class _UnusedVersion:
    """An open version that no attempt uses, with its memory and the start of its idle time."""

    version: OpenVersion
    since_ms: int
    size_bytes: int
    database: bool


class OpenVersions:
    """The open versions of a process, one per task, each for one attempt at a time.

    Args:
        clock: The clock for unused versions.
        most_open: The maximum number of open databases; further tasks open theirs in each batch.
        most_bytes: The approximate maximum bytes of all buffers and resident rows.
        resident_bytes: The maximum memory of a task's rows without a database; 0: no state is
            resident.
        idle: The time after which `close_idle` closes an unused version, because its task probably
            runs elsewhere.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        most_open: int = _MOST_OPEN,
        most_bytes: int = _MOST_BYTES,
        resident_bytes: int = RESIDENT_BYTES,
        idle: timedelta = _IDLE,
    ) -> None:
        self.resident_bytes = resident_bytes
        self._clock = clock or SystemClock()
        self._most_open = most_open
        self._most_bytes = most_bytes
        self._idle_ms = to_ms(idle)
        self._lock = threading.Lock()
        self._kept: dict[Path, _UnusedVersion] = {}
        self._size_bytes = 0
        self._databases = 0
        self._process = os.getpid()
        self._of_parents: list[dict[Path, _UnusedVersion]] = []
        finalize(self, _close_all, self._kept, self._process)

    def take(
        self, home: Path, pointer: Pointer, backend: StateBackend, stores: Collection[str]
    ) -> OpenVersion | None:
        """Remove and return the open version of a task that a pointer names; None without one.

        An open version of the task that is not this version, or does not fit the other arguments,
        is closed.

        Args:
            home: The directory of the task.
            pointer: The pointer of the version.
            backend: The required backend.
            stores: The required stores.
        """
        with self._lock:
            version = self._remove(home)
        if version is None:
            return None
        fits = version.backend == backend and set(stores) <= set(version.stores)
        if fits and version.advance_to(pointer.version_id):
            return version
        version.close()
        return None

    def close_idle(self) -> None:
        """Close the versions that no attempt has used for longer than the idle time."""
        with self._lock:
            idle = list(self._idle_homes())
            gone = [version for version in map(self._remove, idle) if version is not None]
        for version in gone:
            version.close()

    def has_room(self, home: Path, size_bytes: int, *, database: bool) -> bool:
        """Return whether the version of a task can be kept, in place of its kept version, if any.

        Args:
            home: The directory of the task.
            size_bytes: The memory of the version.
            database: Whether the version has an open database.
        """
        with self._lock:
            replaced = self._own_versions().get(home)
            size, databases = self._size_bytes + size_bytes, self._databases
        if replaced is not None:
            size, databases = size - replaced.size_bytes, databases - replaced.database
        return size <= self._most_bytes and not (database and databases >= self._most_open)

    def keep(self, version: OpenVersion) -> None:
        """Keep a version for its task's next batch; closes another open version of the task."""
        database = version.resident is None
        kept = _UnusedVersion(version, steady_ms(self._clock), version.size_bytes, database)
        with self._lock:
            before = self._remove(version.versions.home)
            self._own_versions()[version.versions.home] = kept  # the last: versions are by age
            self._size_bytes += kept.size_bytes
            self._databases += kept.database
        if before is not None:
            before.close()

    def _remove(self, home: Path) -> OpenVersion | None:
        found = self._own_versions().pop(home, None)
        if found is None:
            return None
        self._size_bytes -= found.size_bytes
        self._databases -= found.database
        return found.version

    def _idle_homes(self) -> Iterator[Path]:
        now = steady_ms(self._clock)
        for home, each in self._own_versions().items():
            if now - each.since_ms <= self._idle_ms:
                return
            yield home

    def close(self) -> None:
        """Close all versions; this also happens when the object is deleted."""
        with self._lock:
            _close_all(self._own_versions(), self._process)
            self._size_bytes = self._databases = 0

    def _own_versions(self) -> dict[Path, _UnusedVersion]:
        """Return the versions that this process has opened, not those of its parent process."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._of_parents.append(self._kept)
            self._kept = {}
            self._size_bytes = self._databases = 0
            finalize(self, _close_all, self._kept, self._process)
        return self._kept


def _close_all(kept: dict[Path, _UnusedVersion], process: int) -> None:
    """Close versions in the process that opened them, whose id is `process`; else do nothing."""
    while kept and process == os.getpid():
        kept.popitem()[1].version.close()
