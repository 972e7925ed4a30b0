"""The version that a view stands at, and working copies of its partitions."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, cast

from kstreams.checkpoint.store_place import StorePlace, stamp_of
from kstreams.clock import Clock, steady_ms
from kstreams.errors import (
    LogMismatchError,
    NoCheckpointError,
    PluginError,
    StateCorruptError,
    StoreError,
)
from kstreams.ids import TaskId
from kstreams.partitioner import Partitioner
from kstreams.plugins import load_plugin
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import StateBackend
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.views.replica import Replica
from kstreams.views.scan import ViewScan

__all__ = ("Reader", "ReaderSettings")

T = TypeVar("T")
"""Type of what is read."""

_IN_MEMORY_BYTES = 64 * 1024 * 1024
_ATTEMPTS = 20


@dataclass(frozen=True)
class ReaderSettings:
    """How a view reads; see `View` for the meanings."""

    path: Path
    log: ObjectStoreSettings | None
    as_of: int | str | None
    max_age_ms: int
    backend: StateBackend | None
    partitioner: Partitioner | None
    clock: Clock


class Reader(Generic[S]):
    """Moves working copies of a store's partitions from commit to commit, as they are read.

    Args:
        spec: The store.
        settings: See there.
    """

    def __init__(self, spec: StoreSpec[S], settings: ReaderSettings) -> None:
        self._spec = spec
        self._settings = settings
        self.lock = threading.RLock()
        self._home = Path(tempfile.mkdtemp(prefix="kstreams-view-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self._home, True)
        self._replicas: dict[int, Replica[S]] = {}
        self._generation = 0
        self._scans = 0
        self._closed = False
        self._place = StorePlace.find(settings.path, settings.log, spec)
        self._commit: Commit | None = None
        self._pointers: dict[int, Pointer] = {}
        self._looked_ms = 0
        self.refresh()

    @property
    def version(self) -> int | None:
        """The batch of the version, or None before the first."""
        return None if self._commit is None else self._commit.batch

    @property
    def wall_ms(self) -> int | None:
        """When the version was committed, ms since the epoch by the app's clock."""
        return None if self._commit is None else self._commit.wall_ms

    @property
    def place(self) -> StorePlace:
        """Where the store is."""
        return self._place

    def refresh(self) -> int | None:
        """Move to the newest version, unless it is fixed or being iterated over."""
        with self.lock:
            self._check_open()
            fixed = self._settings.as_of is not None and self._commit is not None
            if self._scans or fixed:
                return self.version
            self._looked_ms = steady_ms(self._settings.clock)
            for _ in range(_ATTEMPTS):
                self._find_again()
                try:
                    self._look()
                except LogMismatchError:
                    if stamp_of(self._settings.path) == self._place.stamp:
                        raise  # else the app was reset or upgraded in between
                else:
                    break
            return self.version

    def _look(self) -> None:
        as_of = self._settings.as_of
        if as_of is not None:
            self._take(self._place.commit(as_of))
        else:
            self._to_newest()

    def _find_again(self) -> None:
        """Notice that the checkpoint has been upgraded, or started fresh."""
        path = self._settings.path
        if stamp_of(path) == self._place.stamp:
            return
        try:
            found = StorePlace.find(path, self._settings.log, self._spec)
        except NoCheckpointError:  # between a reset and the next start
            self._drop_all()
            self._commit, self._pointers = None, {}
            raise
        before = self._place.checkpoint
        self._place = found
        if found.checkpoint != before:
            self._drop_all()
            self._commit, self._pointers = None, {}

    def _to_newest(self) -> None:
        for _ in range(_ATTEMPTS):
            batches = self._place.batches()
            if not batches or batches[-1] == self.version:
                return
            try:
                self._take(self._place.commit(batches[-1]))
            except StoreError:
                if self._place.batches()[-1:] == batches[-1:]:
                    raise
            else:
                return

    def _take(self, commit: Commit) -> None:
        self._commit = commit
        pointers = commit.pointers()
        found: dict[int, Pointer] = {}
        for task, pointer in pointers.items():
            if task.group == self._place.group:
                found[task.partition] = pointer
        self._pointers = found

    def partitions_of(self, key: object) -> Sequence[int]:
        """Return where a key may be: one partition, or all when the rule is not known."""
        partitioner = self._place.partitioner(self._settings.partitioner)
        if partitioner is None:
            return range(self._place.partitions)
        data = self._spec.key.serialize(key)
        return (partitioner.partition(data, self._place.partitions),)

    def read(self, partitions: Sequence[int], look: Callable[[Sequence[S]], T]) -> T:
        """Look at partitions, all at one version: the newest, if it may not be older.

        Raises:
            StateCorruptError: An object is damaged; or the version has been collected while
                it was held by an iteration or by `as_of`.
        """
        with self.lock:
            self._check_open()
            age = steady_ms(self._settings.clock) - self._looked_ms
            if age >= self._settings.max_age_ms:
                self.refresh()
            for _ in range(_ATTEMPTS):
                before = self.version
                try:
                    return look([self._live(partition) for partition in partitions])
                except StateCorruptError:
                    if self.refresh() == before:
                        raise
            return look([self._live(partition) for partition in partitions])

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[S]], Iterator[T]]
    ) -> ViewScan[T]:
        """Begin an iteration, which keeps the view at its version until it ends."""
        with self.lock:
            rows = self.read(partitions, begin)
            self._scans += 1
            return ViewScan(rows, self.lock, self._scan_ended)

    def _scan_ended(self) -> None:
        self._scans -= 1

    def _live(self, partition: int) -> S:
        pointer = self._pointers.get(partition) or Pointer.empty()
        replica = self._replicas.get(partition)
        if replica is None:
            replica = self._replicas[partition] = self._new_replica(partition)
        return replica.at(pointer, self.wall_ms or 0)

    def _new_replica(self, partition: int) -> Replica[S]:
        place = self._place
        task = place.checkpoint.task_key(place.query, TaskId(place.group, partition))
        home = self._home / str(self._generation) / str(partition)
        home.mkdir(parents=True)
        return Replica(self._spec, DurableLog(place.objects, task), self._backend(), home)

    def _backend(self) -> StateBackend:
        """Return what was asked for, else RocksDB for what is too large for memory."""
        if self._settings.backend is not None:
            return self._settings.backend
        size = sum(p.snapshot_bytes + p.delta_bytes for p in self._pointers.values())
        if size <= _IN_MEMORY_BYTES:
            return Memory()
        try:
            make = load_plugin("kstreams.stores", "rocksdb")
        except (PluginError, ImportError):
            return Memory()
        return cast("Callable[[], StateBackend]", make)()

    def _drop_all(self) -> None:
        self._generation += 1
        replicas, self._replicas = self._replicas, {}
        for replica in replicas.values():
            replica.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the view of store {self._spec.name!r} is closed")

    def close(self) -> None:
        """Remove the working copies; a second call does nothing."""
        with self.lock:
            if not self._closed:
                self._closed = True
                self._drop_all()
                self._finalizer()
