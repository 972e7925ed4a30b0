"""The state of one task, version by version: checkout, change, commit.

An attempt works on its own copy of exactly the version in the driver's pointer, and its commit adds
a version. The driver commits the pointer of one of several attempts; other versions are removed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kstreams.errors import StateCorruptError, StoreOpenError
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import (
    StateBackend,
    StaysOpen,
    StoreChanges,
    WorkingStore,
)
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.packs import Packs
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import AttemptResources, Checkout
from kstreams.state.versions.local import LocalAttempt, LocalVersions
from kstreams.state.versions.open_versions import OpenVersion, OpenVersions
from kstreams.state.versions.resident_store import ResidentStore

__all__ = ("TaskVersions",)

_COMPRESSION = 4
"""The compressed objects of a state that may be resident have at most this part of its memory."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Branched:
    """An open copy of a local version, and the name of the attempt that created the version."""

    directory: LocalAttempt
    store: WorkingStore
    source: str


class TaskVersions:
    """Checks out versions of a task's state for attempts.

    The object is cheap to create, and serves any number of attempts. The worker keeps the version
    of the last checkout with the previous and the next version, so that a retry is warm. For a
    version that stays open, an earlier version also stays, from which deltas can restore it.

    Args:
        backend: The backend of the working stores.
        local_home: A directory on the worker's disk, of this app and checkpoint.
        log: The durable log.
        task: The task.
        stores: The names of the task's stores. Stores that are no longer named keep their content.
        upkeep: The settings for merging deltas and creating snapshots.
        background: The background upkeep; None leaves upkeep to commits.
        open_versions: The versions that stay open from batch to batch; None closes all versions.
        packs: The packs of the batch for small deltas; None gives each delta its own object.
    """

    def __init__(
        self,
        backend: StateBackend,
        local_home: Path,
        log: ObjectStore,
        task: TaskKey,
        stores: Sequence[str],
        *,
        upkeep: Upkeep | None = None,
        background: BackgroundUpkeep | None = None,
        open_versions: OpenVersions | None = None,
        packs: Packs | None = None,
    ) -> None:
        self._backend = backend
        self._local = LocalVersions(local_home / task.local, backend)
        self._log = DurableLog(log, task)
        self._stores = tuple(stores)
        self._upkeep = upkeep or Upkeep()
        self._background = background
        self._open_versions = open_versions
        self._packs = packs

    def checkout(self, pointer: Pointer, attempt: Attempt) -> Checkout:
        """Open a copy of a version for one attempt, and remove old versions.

        The checkout is warm if the worker has the version; otherwise it is restored from the
        durable log, completely or from an earlier version on the worker.

        Args:
            pointer: The version.
            attempt: The attempt, with a unique name (`new_attempt`).

        Raises:
            StateCorruptError: An object of the version is missing or damaged in the log.
            StoreOpenError: The local disk is full or cannot be written.
        """
        stores = sorted({*self._stores, *pointer.stores})
        kept = self._left_open(pointer, stores)
        if kept is not None:
            resources = self._resources(kept.directory)
            return Checkout(resources, kept.base, pointer, attempt, warm=True, kept=kept)
        self._local.sweep(pointer.version - 1, pointer.version + 1)
        if (resident := self._resident(pointer, attempt.name, stores)) is not None:
            version, local = resident
            resources = self._resources(version.directory)
            return Checkout(resources, version.base, pointer, attempt, warm=local, kept=version)
        warm = self._branch(pointer, attempt.name, stores)
        opened = warm or self._restored(pointer, attempt.name, stores)
        kept = self._keepable_version(pointer, opened, stores)
        resources = self._resources(opened.directory)
        return Checkout(resources, opened.store, pointer, attempt, warm=warm is not None, kept=kept)

    def _resources(self, directory: LocalAttempt) -> AttemptResources:
        return AttemptResources(
            self._local,
            directory,
            self._log,
            self._upkeep,
            self._backend,
            self._background,
            self._open_versions,
            self._packs,
        )

    def _left_open(self, pointer: Pointer, stores: Sequence[str]) -> OpenVersion | None:
        """Return the version of a pointer if an earlier batch has left it open, or None."""
        if self._open_versions is None:
            return None
        return self._open_versions.take(self._local.home, pointer, self._backend, stores)

    def _resident(
        self, pointer: Pointer, name: str, stores: Sequence[str]
    ) -> tuple[OpenVersion, bool] | None:
        """Return a version with all rows in memory; None if it is not small, or without room.

        Also returns whether the rows were on this worker.
        """
        if not self._may_be_resident(pointer, stores):
            return None
        rows = MemoryStore(stores)
        try:
            warm = self._load(pointer, name, rows, stores)
        except StateCorruptError:
            return None  # a local version may have the rows that the log has lost
        most_bytes = 0 if self._open_versions is None else self._open_versions.resident_bytes
        attempt = self._local.attempt(name)
        database = partial(self._new_database, attempt, stores)
        store = ResidentStore(rows, stores, most_bytes, database)
        if store.size_bytes > most_bytes:
            return None
        return self._open_version(pointer, _Branched(attempt, store, ""), stores, most_bytes), warm

    def _may_be_resident(self, pointer: Pointer, stores: Sequence[str]) -> bool:
        if not stores:
            return True
        opened, backend = self._open_versions, self._backend
        if opened is None or not isinstance(backend, StaysOpen) or not backend.open_bytes:
            return False
        compressed = pointer.snapshot_bytes + pointer.delta_bytes
        if compressed > opened.resident_bytes // _COMPRESSION or not opened.resident_bytes:
            return False
        if self._local.find_base(pointer.version, pointer.version_id) is not None:
            return False  # another process had too many rows
        opened.close_idle()
        return opened.has_room(self._local.home, opened.resident_bytes, database=False)

    def _load(self, pointer: Pointer, name: str, rows: MemoryStore, stores: Sequence[str]) -> bool:
        """Load the rows of a version into memory; return whether they were on this worker."""
        if pointer.version == 0:
            return True
        opened = self._branch(pointer, name, stores)
        if opened is None:
            self._log.restore(pointer, rows)
            return False
        try:
            for store in stores:
                rows.write({store: StoreChanges(list(opened.store.scan(store, None, None)))})
            opened.store.close()
        finally:
            self._local.discard(opened.directory)
        return True

    def _new_database(self, attempt: LocalAttempt, stores: Sequence[str]) -> WorkingStore:
        """Open an empty database in the directory of an attempt, which has no lock yet."""
        with self._local.exclusive():
            self._local.lock(attempt)
        return self._backend.open(attempt.directory, stores)

    def _keepable_version(
        self, pointer: Pointer, opened: _Branched, stores: Sequence[str]
    ) -> OpenVersion | None:
        """Return an `OpenVersion` of the opened copy; None if the version must not stay open."""
        backend = self._backend
        if self._open_versions is None or not isinstance(backend, StaysOpen):
            return None
        if pointer.version == 0 or not backend.open_bytes:
            return None
        return self._open_version(pointer, opened, stores, backend.open_bytes)

    def _open_version(
        self, pointer: Pointer, opened: _Branched, stores: Sequence[str], most_bytes: int
    ) -> OpenVersion:
        return OpenVersion(
            self._local,
            opened.directory,
            self._backend,
            opened.store,
            frozenset(stores),
            (opened.source, pointer.version),
            pointer.version_id,
            most_bytes,
        )

    def _restored(self, pointer: Pointer, attempt: str, stores: Sequence[str]) -> _Branched:
        self._restore(pointer, attempt, stores)
        opened = self._branch(pointer, attempt, stores)
        if opened is None:
            raise StoreOpenError(
                f"state backend {self._backend.name} cannot branch a version that it just closed",
                hint="Test the backend with kstreams.testing.WorkingStoreContract.",
            ).at(app=self._log.task.app, group=self._log.task.group)
        return opened

    def _branch(self, pointer: Pointer, attempt: str, stores: Sequence[str]) -> _Branched | None:
        """Copy and open a pointer's local version; return None if it is missing or unusable."""
        with self._local.exclusive():
            directory = self._local.begin(attempt)
            try:
                source = self._local.find(pointer.version, pointer.version_id)
                usable = self._fill(pointer, source, directory)
            except BaseException:
                self._local.discard(directory)
                raise
        try:
            if usable:
                store = self._backend.open(directory.directory, stores)
                return _Branched(directory, store, "" if source is None else source.name)
        except StoreOpenError as error:
            if pointer.version == 0:
                self._local.discard(directory)
                raise
            _LOG.warning(
                "task %s: restoring, the local state is unusable: %s", self._log.task, error
            )
        self._local.discard(directory)
        if source is not None:
            with self._local.exclusive():
                self._local.forget(pointer.version, pointer.version_id)
        return None

    def _fill(self, pointer: Pointer, source: Path | None, directory: LocalAttempt) -> bool:
        if pointer.version == 0:
            return True
        return source is not None and self._backend.branch(source, directory.directory)

    def _restore(self, pointer: Pointer, attempt: str, stores: Sequence[str]) -> None:
        """Create the local version of a pointer: from an earlier local version, or from the log."""
        try:
            if self._restored_after(pointer, f"{attempt}-base", stores):
                return
        except StoreOpenError as error:
            _LOG.warning("task %s: the local state is unusable: %s", self._log.task, error)
        with self._local.exclusive():
            base = self._local.begin(f"{attempt}-base")
        self._complete(pointer, base, stores, after=None)

    def _restored_after(self, pointer: Pointer, name: str, stores: Sequence[str]) -> bool:
        """Restore the local version from an earlier local version; return False without one.

        Copies the earlier version to a new attempt, `name`, and applies the deltas after it.
        """
        with self._local.exclusive():
            found = self._local.find_base(pointer.version, pointer.version_id)
            if found is None or found[1] < pointer.base:
                return False
            earlier, after = found
            base = self._local.begin(name)
            try:
                usable = self._backend.branch(earlier, base.directory)
            except BaseException:
                self._local.discard(base)
                raise
        if not usable:
            self._local.discard(base)
            return False
        self._complete(pointer, base, stores, after=after)
        return True

    def _complete(
        self, pointer: Pointer, base: LocalAttempt, stores: Sequence[str], after: int | None
    ) -> None:
        try:
            store = self._backend.open(base.directory, stores)
            try:
                self._log.restore(pointer, store, after)
            finally:
                store.close()
            with self._local.exclusive():
                self._local.publish(pointer.version, pointer.version_id, base)
        except BaseException:
            self._local.discard(base)
            raise
