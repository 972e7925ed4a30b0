"""Versions that stay open from batch to batch, with the changes of small batches in memory.

An open version has a working store in its own directory, which is locked by this process: the base,
copied from a closed version. A small batch writes nothing to the base. Its changes are kept
separately until the next batch starts from the pointer of the small batch, which proves that the
small batch was committed; then the changes are added to buffers in memory. A retry of the small
batch starts from the previous pointer, so its changes are dropped. A batch with any other pointer
does not use the open version.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from weakref import finalize

from kstreams.clock import Clock, SystemClock, steady_ms, to_ms
from kstreams.errors import StoreError
from kstreams.state.backend.working import Changes, StateBackend, WorkingStore
from kstreams.state.log.pointer import Pointer
from kstreams.state.versions.buffered_store import BufferedStore
from kstreams.state.versions.change_buffer import ChangeBuffer, memory_bytes
from kstreams.state.versions.local import LocalAttempt, LocalVersions

__all__ = ("OpenVersion", "OpenVersions")

_SMALL_PART = 8
_MOST_RANGES = 256
_MOST_OPEN = 16
"""A version has some ten open files, and a process often may have only 1,024."""
_MOST_BYTES = 32 * 1024 * 1024
_IDLE = timedelta(minutes=2)
_LOG = logging.getLogger(__name__)


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
    _next: tuple[str, Changes] | None = None

    @property
    def size_bytes(self) -> int:
        """The approximate memory of the buffers, in bytes."""
        return sum(buffer.size_bytes for buffer in self._buffers.values())

    def reads(self) -> BufferedStore:
        """Return a read-only store for an attempt: the base's rows with the buffered changes."""
        return BufferedStore(self.base, self._buffers)

    def has_room(self, changes: Changes) -> bool:
        """Return whether changes are small and fit into the buffers."""
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

        The method also records the next version on disk, so that another process can restore it
        from this version's base and the deltas.

        Raises:
            StoreError: The disk is full or cannot be written.
        """
        version, version_id = pointer.version, pointer.version_id
        with self.versions.exclusive():
            self.versions.publish_base(version, version_id, self.directory, self.source)
        self._next = (version_id, changes)
        self.versions.sweep(version - 2, version)

    def advance_to(self, version_id: str) -> bool:
        """Make this object the version with an id, if possible; return whether it is that version.

        If `follow` has recorded the changes of a next version with this id, they are added to the
        buffers. Changes of a next version with another id are dropped: it was not committed.

        Args:
            version_id: The id of the committed version.
        """
        following, self._next = self._next, None
        if following is not None and following[0] == version_id:
            self.version_id = version_id
            for store, changed in following[1].items():
                self._buffers.setdefault(store, ChangeBuffer()).take_in(changed)
        return self.version_id == version_id

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
class _Kept:
    version: OpenVersion
    since_ms: int


class OpenVersions:
    """The open versions of a process, one per task, each for one attempt at a time.

    Args:
        clock: The clock for unused versions.
        most_open: The maximum number of open versions; further tasks reopen versions per batch.
        most_bytes: The approximate maximum bytes of all buffers.
        idle: The time after which an unused version may be closed, because its task runs elsewhere.
    """

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        most_open: int = _MOST_OPEN,
        most_bytes: int = _MOST_BYTES,
        idle: timedelta = _IDLE,
    ) -> None:
        self._clock = clock or SystemClock()
        self._most_open = most_open
        self._most_bytes = most_bytes
        self._idle_ms = to_ms(idle)
        self._lock = threading.Lock()
        self._kept: dict[Path, _Kept] = {}
        self._process = os.getpid()
        self._of_parents: list[dict[Path, _Kept]] = []
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
            found = self._own().pop(home, None)
        if found is None:
            return None
        version = found.version
        fits = version.backend == backend and set(stores) <= set(version.stores)
        if fits and version.advance_to(pointer.version_id):
            return version
        version.close()
        return None

    def has_room(self, version: OpenVersion) -> bool:
        """Return whether a taken or newly opened version can be kept."""
        now = steady_ms(self._clock)
        with self._lock:
            kept = self._own()
            idle = [home for home, each in kept.items() if now - each.since_ms > self._idle_ms]
            gone = [kept.pop(home) for home in idle]
            others = [each.version for home, each in kept.items() if home != version.versions.home]
        for each in gone:
            each.version.close()
        size = sum(each.size_bytes for each in (version, *others))
        return len(others) < self._most_open and size <= self._most_bytes

    def keep(self, version: OpenVersion) -> None:
        """Keep a version for its task's next batch; closes another open version of the task."""
        home = version.versions.home
        with self._lock:
            kept = self._own()
            before = kept.pop(home, None)
            kept[home] = _Kept(version, steady_ms(self._clock))
        if before is not None:
            before.version.close()

    def close(self) -> None:
        """Close all versions; this also happens when the object is deleted."""
        with self._lock:
            _close_all(self._own(), self._process)

    def _own(self) -> dict[Path, _Kept]:
        """Return the versions that this process has opened, not those of its parent process."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._of_parents.append(self._kept)
            self._kept = {}
            finalize(self, _close_all, self._kept, self._process)
        return self._kept


def _close_all(kept: dict[Path, _Kept], process: int) -> None:
    """Close versions in the process that opened them, whose id is `process`; else do nothing."""
    while kept and process == os.getpid():
        kept.popitem()[1].version.close()
