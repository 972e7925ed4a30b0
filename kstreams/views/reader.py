"""The current version of a view, and working copies of its partitions."""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from kstreams.clock import SystemClock, steady_ms
from kstreams.errors import (
    KStreamsError,
    LogMismatchError,
    NoCheckpointError,
    StateCorruptError,
    StoreError,
)
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.views.layered_copy import State
from kstreams.views.pinned import Pinned
from kstreams.views.reader_settings import ReaderSettings
from kstreams.views.replica import Replica
from kstreams.views.scan import ViewScan
from kstreams.views.state_source import ViewedStore
from kstreams.views.version import Version
from kstreams.views.versioned_reads import MovingReader

__all__ = ("Reader",)

T = TypeVar("T")
"""Type of the result of a read."""

_ATTEMPTS = 20
_MACHINE = SystemClock()


class Reader(MovingReader[S]):
    """Moves working copies of a store's partitions from commit to commit.

    A version is read and decoded without blocking reads; then all of it becomes visible at once.

    Args:
        spec: The store.
        settings: The settings of the view.
    """

    def __init__(self, spec: StoreSpec[S], settings: ReaderSettings) -> None:
        self._spec = spec
        self._settings = settings
        self.lock = threading.RLock()
        self._moving = threading.Lock()  # taken before `lock`, never inside it
        self._home = Path(tempfile.mkdtemp(prefix="kstreams-view-"))
        self._finalizer = weakref.finalize(self, shutil.rmtree, self._home, True)
        self._replicas: dict[int, Replica[S]] = {}
        self._epoch_number = 0
        self._scans = 0
        self._closed = False
        self._place: ViewedStore = settings.source.find(spec)
        self._partitioner = self._place.partitioner(settings.partitioner)
        self._version: Version[S] = Version(None, self._place.group)
        self._kept: deque[Version[S]] = deque(maxlen=settings.kept)
        self._looked_ms = 0
        self._failure: KStreamsError | None = None
        self.refresh()

    @property
    @override
    def version(self) -> int | None:
        return self._version.batch

    @property
    @override
    def wall_ms(self) -> int | None:
        return self._version.wall_ms

    @property
    def place(self) -> ViewedStore:
        """The viewed store, as found in the checkpoint or query."""
        return self._place

    @property
    def epoch(self) -> str:
        """The identity of the sequence of versions, which changes when the app is reset."""
        return str(self._place.epoch)

    @property
    @override
    def partitions(self) -> int:
        return self._place.partitions

    @override
    def versions(self) -> list[int]:
        return self._place.batches()

    def refresh(self) -> int | None:
        """Move to the newest version unless `as_of` or an iteration fixes it; return its number."""
        with self._moving:
            self._check_open()
            fixed = self._settings.as_of is not None and self.version is not None
            if self._scans or fixed:
                return self.version
            self._looked_ms = steady_ms(self._settings.clock)
            for _ in range(_ATTEMPTS):
                self._find_again()
                try:
                    self._look()
                except LogMismatchError:
                    if self._settings.source.stamp() == self._place.stamp:
                        raise  # else the app was reset or upgraded in between
                else:
                    break
            return self.version

    def advance(self) -> int | None:
        """Move to the newest version; return the version that reads then see.

        A background thread calls this method. If the move fails, later reads raise its error.
        """
        try:
            self.refresh()
            self._failure = None
        except KStreamsError as exc:
            self._failure = exc
        with self._moving:
            self._fold()
        return self.version

    def _fold(self) -> None:
        for replica in self._replicas.values():
            replica.fold(self.lock)

    def _look(self) -> None:
        as_of = self._settings.as_of
        if as_of is not None:
            self._take(self._place.commit(as_of))
        else:
            self._to_newest()

    def _find_again(self) -> None:
        """Look the store up again if the checkpoint has been upgraded or reset."""
        source = self._settings.source
        if source.stamp() == self._place.stamp:
            return
        try:
            found = source.find(self._spec)
        except NoCheckpointError:  # between a reset and the next start
            self._begin_again()
            raise
        with self.lock:  # never confuse versions of two histories
            before, self._place = self._place, found
            self._partitioner = found.partitioner(self._settings.partitioner)
            if found.checkpoint != before.checkpoint:
                self._begin_again()

    def _begin_again(self) -> None:
        with self.lock:
            self._drop_all()
            self._version = Version(None, self._place.group)

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
        """Bring the restored partitions to a commit's version, then make it the current version."""
        found: Version[S] = Version(commit, self._place.group)
        try:
            for partition in self._version.states:
                found.states[partition] = self._state(found, partition)
        except StateCorruptError:
            found.states.clear()  # readers of the partition get the error
        with self.lock:
            if self._scans:
                return
            if self._settings.kept:
                self._kept.append(self._version)
            self._version = found
        if not self._settings.in_background:
            self._fold()

    def _state(self, version: Version[S], partition: int) -> State[S]:
        pointer = version.pointers.get(partition) or Pointer.empty()
        replica = self._replicas.get(partition)
        if replica is None:
            replica = self._replicas[partition] = self._new_replica(partition, version)
        return replica.advance(pointer, version.wall_ms or 0)

    @override
    def partitions_of(self, key: object) -> Sequence[int]:
        if self._partitioner is None:
            return range(self._place.partitions)
        data = self._spec.key.serialize(key)
        return (self._partitioner.partition(data, self._place.partitions),)

    def has(self, batch: int) -> bool:
        """Return whether a version is the current version or a kept version."""
        return any(version.batch == batch for version in (self._version, *self._kept))

    def pin(self, partitions: Sequence[int] | None, at: int | None = None) -> Pinned[S] | None:
        """Return a pinned version; None if a partition must be restored first.

        Args:
            partitions: The partitions to read; None for all.
            at: A version that `has` knows; None for the current one.

        Raises:
            StoreError: The version is not kept.
        """
        with self.lock:
            self._check_open()
            self._check_failure()
            version = self._version if at is None else self._version_at(at)
            wanted = range(self.partitions) if partitions is None else partitions
            if not all(partition in version.states for partition in wanted):
                return None
            states = {partition: version.states[partition] for partition in wanted}
            return Pinned(self, version.batch, version.wall_ms, states, self._spec.name)

    @override
    def hold(self) -> Pinned[S]:
        for _ in range(_ATTEMPTS):
            found = self.pin(None)
            if found is not None:
                return found
            self.restore(range(self.partitions))
        raise self._always_reset()

    def evict(self, partitions: Sequence[int], remove: Callable[[S], object]) -> None:
        """Remove rows from the working copies of partitions, until a commit writes them again.

        Args:
            partitions: The partitions.
            remove: Called with each live store; deletes the rows.
        """
        with self._moving:
            self._check_open()
            version = self._version
            for partition in partitions:
                if partition not in version.states:
                    self._make_ready(version, partition)
                with self.lock:
                    state = version.states[partition]
                    changes = state.without(remove)
                    if changes:
                        version.states[partition] = self._replicas[partition].evict(state, changes)
            if not self._settings.in_background:
                self._fold()

    @override
    def recovered(self) -> bool:
        with self._moving:
            self._check_open()
            version = self._version
            if self._settings.as_of is None:
                if self._settings.source.stamp() != self._place.stamp:
                    return False
                newest = self._place.batches()[-1:]
                if newest != ([] if version.batch is None else [version.batch]):
                    return False
            return all(partition in version.states for partition in range(self.partitions))

    @override
    def recover(self, until_ms: int | None) -> bool:
        for partition in range(self.partitions):
            if until_ms is not None and steady_ms(_MACHINE) >= until_ms:
                return False
            self.restore((partition,))
        self.refresh()
        return self.recovered()

    def restore(self, partitions: Sequence[int]) -> None:
        """Make partitions ready at the current version, without blocking reads of other partitions.

        Raises:
            StateCorruptError: An object is damaged or was deleted.
        """
        self.read(partitions, len)

    def read(self, partitions: Sequence[int], look: Callable[[Sequence[S]], T]) -> T:
        """Call a function with the live stores of partitions, and return its result.

        Args:
            partitions: The partitions, at the newest version if the current one is too old.
            look: Called with the live stores; it must not keep references to them.

        Raises:
            StateCorruptError: An object is damaged, or the version was deleted while an
                iteration or `as_of` held it.
        """
        return self._read(partitions, lambda states: look([state.live() for state in states]))

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[S]], Iterator[T]]
    ) -> ViewScan[T]:
        """Iterate over rows of `begin(live stores)`; meanwhile the view stays at its version."""

        def opened(states: Sequence[State[S]]) -> ViewScan[T]:
            rows = begin([state.live() for state in states])
            self._scans += 1
            return ViewScan(rows, self.lock, self._scan_ended)

        return self._read(partitions, opened)

    def _scan_ended(self) -> None:
        self._scans -= 1

    def _read(self, partitions: Sequence[int], look: Callable[[Sequence[State[S]]], T]) -> T:
        self._check_open()
        self._check_failure()
        if not self._settings.in_background:
            age = steady_ms(self._settings.clock) - self._looked_ms
            if age >= self._settings.max_age_ms:
                self.refresh()
        for attempt in range(_ATTEMPTS):
            with self.lock:
                self._check_open()
                held = self._version.states
                states = [held[p] for p in partitions if p in held]
                if len(states) == len(partitions):
                    return look(states)
            before = self.version
            try:
                self._bring(partitions)
            except StateCorruptError:
                if attempt == _ATTEMPTS - 1 or self.refresh() == before:
                    raise
        raise self._always_reset()

    def _always_reset(self) -> StoreError:
        return StoreError(f"store {self._spec.name!r}: the app was reset at each read; read again")

    def _version_at(self, batch: int) -> Version[S]:
        for version in (self._version, *self._kept):
            if version.batch == batch:
                return version
        raise StoreError(f"the view of store {self._spec.name!r} does not keep version {batch}")

    def _check_failure(self) -> None:
        if self._failure is not None:
            raise self._failure.with_traceback(None)

    def _bring(self, partitions: Sequence[int]) -> None:
        """Make partitions ready at the current version."""
        with self._moving:
            version = self._version
            for partition in partitions:
                if partition not in version.states:
                    self._make_ready(version, partition)

    def _make_ready(self, version: Version[S], partition: int) -> None:
        state = self._state(version, partition)
        with self.lock:
            version.states[partition] = state

    def _new_replica(self, partition: int, version: Version[S]) -> Replica[S]:
        place = self._place
        home = self._home / str(self._epoch_number) / str(partition)
        home.mkdir(parents=True)
        log = DurableLog(place.objects, place.task_key(partition))
        backend = self._settings.backend_for(version.state_bytes)
        return Replica(self._spec, log, backend, home)

    def _drop_all(self) -> None:
        self._epoch_number += 1
        self._kept.clear()
        replicas, self._replicas = self._replicas, {}
        for replica in replicas.values():
            replica.close()

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the view of store {self._spec.name!r} is closed")

    def close(self) -> None:
        """Delete the working copies; a second call does nothing."""
        with self._moving, self.lock:
            if not self._closed:
                self._closed = True
                self._drop_all()
                self._finalizer()
