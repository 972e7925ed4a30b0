"""One task's state, version after version: checked out, changed, committed.

An attempt works on a copy of its own of exactly the version that the driver's pointer
names, and its commit adds a version beside the others. Which of several attempts counts is
decided by whose pointer the driver commits; the rest is removed later.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kstreams.errors import StoreOpenError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StateBackend, StaysOpen, WorkingStore
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import Checkout, Place
from kstreams.state.versions.local import LocalAttempt, LocalVersions
from kstreams.state.versions.open_versions import OpenVersion, OpenVersions

__all__ = ("TaskVersions",)

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Branched:
    """An open copy of a local version, and the name of the attempt that made that."""

    directory: LocalAttempt
    store: WorkingStore
    source: str


class TaskVersions:
    """Where a task's attempts get their state from, and bring it back to.

    Cheap to make: one a batch will do, and one serves any number of attempts. The worker
    keeps the version that was checked out last, the one before and those that follow it,
    so that a retry is warm. A version that stays open is at one
    of these alone, and an earlier one, from which the log's deltas lead to it, stays beside it.

    Args:
        backend: What the working stores are.
        local_home: A directory on the worker's own disk, of this app and checkpoint alone.
        log: The durable log.
        task: Which task.
        stores: Names of its stores. One that is no longer named keeps its contents.
        upkeep: When deltas are merged and snapshots made.
        background: Does the upkeep beside the batches; None leaves it to commits.
        open_versions: What keeps versions open from batch to batch; None closes each.
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
    ) -> None:
        self._backend = backend
        self._local = LocalVersions(local_home / task.local, backend)
        self._log = DurableLog(log, task)
        self._stores = tuple(stores)
        self._upkeep = upkeep or Upkeep()
        self._background = background
        self._open_versions = open_versions

    def checkout(self, pointer: Pointer, attempt: Attempt) -> Checkout:
        """Open a copy of a version for one attempt, and remove what is too old.

        Warm when the worker has the version; else it is restored from the durable log, all of
        it or what came since an earlier version that the worker has.

        Args:
            pointer: The version.
            attempt: Who asks, by a name that no other attempt has (`new_attempt`).

        Raises:
            StateCorruptError: The log lacks an object of the version, or has it damaged.
            StoreOpenError: The local disk is full or cannot be written.
        """
        stores = sorted({*self._stores, *pointer.stores})
        kept = self._kept(pointer, stores)
        if kept is not None:
            place = self._place(kept.directory)
            return Checkout(place, kept.base, pointer, attempt, warm=True, kept=kept)
        self._local.sweep(pointer.version - 1, pointer.version + 1)
        warm = self._branch(pointer, attempt.name, stores)
        opened = warm or self._restored(pointer, attempt.name, stores)
        kept = self._to_keep(pointer, opened, stores)
        place = self._place(opened.directory)
        return Checkout(place, opened.store, pointer, attempt, warm=warm is not None, kept=kept)

    def _place(self, directory: LocalAttempt) -> Place:
        return Place(
            self._local,
            directory,
            self._log,
            self._upkeep,
            self._backend,
            self._background,
            self._open_versions,
        )

    def _kept(self, pointer: Pointer, stores: Sequence[str]) -> OpenVersion | None:
        """Return the version as a batch before has left it open, if it has."""
        if self._open_versions is None:
            return None
        return self._open_versions.take(self._local.home, pointer, self._backend, stores)

    def _to_keep(
        self, pointer: Pointer, opened: _Branched, stores: Sequence[str]
    ) -> OpenVersion | None:
        """Return what may stay open of a version; None where it is closed in any case."""
        backend = self._backend
        if self._open_versions is None or not isinstance(backend, StaysOpen):
            return None
        if pointer.version == 0 or not backend.open_bytes:
            return None
        return OpenVersion(
            self._local,
            opened.directory,
            backend,
            opened.store,
            frozenset(stores),
            (opened.source, pointer.version),
            pointer.lineage,
            backend.open_bytes,
        )

    def _restored(self, pointer: Pointer, attempt: str, stores: Sequence[str]) -> _Branched:
        self._restore(pointer, attempt, stores)
        opened = self._branch(pointer, attempt, stores)
        if opened is None:
            raise StoreOpenError(
                f"{self._backend.name} cannot branch the version that it has just closed",
                hint="Prove the backend with kstreams.testing.WorkingStoreContract.",
            ).at(app=self._log.task.app, group=self._log.task.group)
        return opened

    def _branch(self, pointer: Pointer, attempt: str, stores: Sequence[str]) -> _Branched | None:
        """Branch and open the local version, or return None when there is none of use."""
        with self._local.exclusive():
            directory = self._local.begin(attempt)
            try:
                source = self._local.find(pointer.version, pointer.lineage)
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
            _LOG.warning("task %s: restoring, local state is of no use: %s", self._log.task, error)
        self._local.discard(directory)
        if source is not None:
            with self._local.exclusive():
                self._local.forget(pointer.version, pointer.lineage)
        return None

    def _fill(self, pointer: Pointer, source: Path | None, directory: LocalAttempt) -> bool:
        if pointer.version == 0:
            return True
        return source is not None and self._backend.branch(source, directory.directory)

    def _restore(self, pointer: Pointer, attempt: str, stores: Sequence[str]) -> None:
        """Make the local version of an earlier one and what came since, or of the log alone."""
        try:
            if self._restored_after(pointer, f"{attempt}-base", stores):
                return
        except StoreOpenError as error:
            _LOG.warning("task %s: local state is of no use: %s", self._log.task, error)
        with self._local.exclusive():
            base = self._local.begin(f"{attempt}-base")
        self._complete(pointer, base, stores, after=None)

    def _restored_after(self, pointer: Pointer, name: str, stores: Sequence[str]) -> bool:
        """Make the local version of an earlier one, where there is one of use."""
        with self._local.exclusive():
            found = self._local.find_base(pointer.version, pointer.lineage)
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
                self._local.publish(pointer.version, pointer.lineage, base)
        except BaseException:
            self._local.discard(base)
            raise
