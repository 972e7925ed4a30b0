"""One task's state, version after version: checked out, changed, committed.

An attempt works on a copy of its own of exactly the version that the driver's pointer
names, and its commit adds a version beside the others. Which of several attempts counts is
decided by whose pointer the driver commits; the rest is removed later.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from kstreams.errors import StoreOpenError
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import StateBackend, WorkingStore
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.versions.background import BackgroundUpkeep
from kstreams.state.versions.checkout import Checkout, Place
from kstreams.state.versions.local import LocalAttempt, LocalVersions

__all__ = ("TaskVersions",)

_LOG = logging.getLogger(__name__)


class TaskVersions:
    """Where a task's attempts get their state from, and bring it back to.

    Cheap to make: one a batch will do, and one serves any number of attempts. The worker
    keeps the version that was checked out last, the one before and those that follow it,
    so that a retry is warm.

    Args:
        backend: What the working stores are.
        local_home: A directory on the worker's own disk, of this app and checkpoint alone.
        log: The durable log.
        task: Which task.
        stores: Names of its stores. One that is no longer named keeps its contents.
        upkeep: When deltas are merged and snapshots made.
        background: Does the upkeep beside the batches; None leaves it to commits.
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
    ) -> None:
        self._backend = backend
        self._local = LocalVersions(local_home / task.local, backend)
        self._log = DurableLog(log, task)
        self._stores = tuple(stores)
        self._upkeep = upkeep or Upkeep()
        self._background = background

    def checkout(self, pointer: Pointer, attempt: Attempt) -> Checkout:
        """Open a copy of a version for one attempt, and remove what is too old.

        Warm when the worker has the version; else it is restored from the durable log.

        Args:
            pointer: The version.
            attempt: Who asks, by a name that no other attempt has (`new_attempt`).

        Raises:
            StateCorruptError: The log lacks an object of the version, or has it damaged.
            StoreOpenError: The local disk is full or cannot be written.
        """
        self._local.sweep(pointer.version - 1, pointer.version + 1)
        stores = sorted({*self._stores, *pointer.stores})
        warm = self._branch(pointer, attempt.name, stores)
        directory, store = warm or self._restored(pointer, attempt.name, stores)
        place = Place(
            self._local, directory, self._log, self._upkeep, self._backend, self._background
        )
        return Checkout(place, store, pointer, attempt, warm=warm is not None)

    def _restored(
        self, pointer: Pointer, attempt: str, stores: Sequence[str]
    ) -> tuple[LocalAttempt, WorkingStore]:
        self._restore(pointer, attempt, stores)
        opened = self._branch(pointer, attempt, stores)
        if opened is None:
            raise StoreOpenError(
                f"{self._backend.name} cannot branch the version that it has just closed",
                hint="Prove the backend with kstreams.testing.WorkingStoreContract.",
            ).at(app=self._log.task.app, group=self._log.task.group)
        return opened

    def _branch(
        self, pointer: Pointer, attempt: str, stores: Sequence[str]
    ) -> tuple[LocalAttempt, WorkingStore] | None:
        """Branch and open the local version, or return None when there is none of use."""
        with self._local.exclusive():
            directory = self._local.begin(attempt)
            try:
                usable = self._fill(pointer, directory)
            except BaseException:
                self._local.discard(directory)
                raise
        try:
            if usable:
                return directory, self._backend.open(directory.directory, stores)
        except StoreOpenError as error:
            if pointer.version == 0:
                self._local.discard(directory)
                raise
            _LOG.warning("task %s: restoring, local state is of no use: %s", self._log.task, error)
        self._local.discard(directory)
        with self._local.exclusive():
            self._local.forget(pointer.version, pointer.lineage)
        return None

    def _fill(self, pointer: Pointer, directory: LocalAttempt) -> bool:
        if pointer.version == 0:
            return True
        source = self._local.find(pointer.version, pointer.lineage)
        return source is not None and self._backend.branch(source, directory.directory)

    def _restore(self, pointer: Pointer, attempt: str, stores: Sequence[str]) -> None:
        """Make the local version again from the durable log."""
        with self._local.exclusive():
            base = self._local.begin(f"{attempt}-base")
        try:
            store = self._backend.open(base.directory, stores)
            try:
                self._log.restore(pointer, store)
            finally:
                store.close()
            with self._local.exclusive():
                self._local.publish(pointer.version, pointer.lineage, base)
        except BaseException:
            self._local.discard(base)
            raise
