"""A private copy of one store of one task, and the versions of it that can be read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Generic
from weakref import WeakSet

from kstreams.state.backend.working import StateBackend, StoreChanges, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import FixedTimes
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.store_changes import changes_of
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.views.layers import Layer, LayeredStore

__all__ = ("Replica", "State")

_CACHED_READS = 1000
_SLICE = 500


class _Copy:
    """A working store that one replica fills, and its directory."""

    def __init__(self, backend: StateBackend, directory: Path, store: str) -> None:
        self._backend = backend
        self._directory = directory
        self._closed = False
        self.store: WorkingStore = backend.open(directory, [store])

    def close(self) -> None:
        """Delete it; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self.store.close()
            self._backend.remove(self._directory)


class State(Generic[S]):
    """One partition of a store at one version: it stays readable as long as it is held.

    Args:
        spec: The store.
        copy: What is below the layers.
        layers: What came since, the newest first.
        times: What the store's rows expire by.
        newest: Number of the newest layer that it or its copy has.

    Attributes:
        stored: Its encoded rows.
    """

    def __init__(
        self,
        spec: StoreSpec[S],
        copy: _Copy,
        layers: tuple[Layer, ...],
        times: FixedTimes,
        newest: int,
    ) -> None:
        self.copy = copy
        self.newest = newest
        self.stored = LayeredStore(spec.name, copy.store, layers)
        self.times = times
        self._spec = spec
        self._overlay: Overlay | None = None
        self._live: S | None = None
        self._reads = 0

    def live(self) -> S:
        """Return the store, to be read only, by one thread at a time."""
        live = self._live
        if live is None or self._overlay is None:
            self._overlay = Overlay(self.stored, times=self.times)
            live = self._live = self._spec.open(self._overlay)
        self._reads += 1
        if self._reads % _CACHED_READS == 0:
            self._overlay.forget()
        return live


class Replica(Generic[S]):
    """A working copy that follows a task's committed versions by their deltas.

    A snapshot is read once, into the copy. After that a version is what its deltas decode to,
    laid over the copy: it is read in no other way than before, and nothing waits for it. What
    all versions have that are still held is then taken into the copy, in slices. Only the
    one store is kept.

    `advance`, `fold` and `close` are for one thread at a time; states are read meanwhile.

    Args:
        spec: The store.
        log: The task's durable log.
        backend: Keeps the copy.
        home: An empty directory for it.
    """

    def __init__(
        self, spec: StoreSpec[S], log: DurableLog, backend: StateBackend, home: Path
    ) -> None:
        self._spec = spec
        self._log = log
        self._backend = backend
        self._home = home
        self._number = 0
        self._at: Pointer | None = None
        self._copy: _Copy | None = None
        self._retired: list[_Copy] = []
        self._layers: tuple[Layer, ...] = ()
        self._newest = 0
        self._states: WeakSet[State[S]] = WeakSet()

    def advance(self, pointer: Pointer, wall_ms: int) -> State[S]:
        """Return the store at a committed version of the task's one line of versions.

        Args:
            pointer: The version.
            wall_ms: When it was committed.

        Raises:
            StateCorruptError: An object of the version is damaged, or gone since: the app
                keeps what its last commits name.
        """
        self._close_retired()
        copy, present = self._copy, self._at
        if copy is None or present is None:
            copy = self._restore(pointer)
        elif present.lineage != pointer.lineage:
            if pointer.base <= present.version <= pointer.version:
                changes = list(self._changes(pointer.deltas_after(present.version)))
                layers = [Layer(each, self._newest + n) for n, each in enumerate(changes, 1)]
                self._newest += len(layers)
                self._layers = (*reversed(layers), *self._layers)
            else:
                copy = self._restore(pointer)
        self._at = pointer
        times = FixedTimes(pointer.meta.get("time", -1), wall_ms)
        state = State(self._spec, copy, self._layers, times, self._newest)
        self._states.add(state)
        return state

    def _changes(self, refs: Sequence[ObjectRef]) -> Iterator[StoreChanges]:
        return changes_of(self._log, refs, self._spec.name)

    def _restore(self, pointer: Pointer) -> _Copy:
        """Read a version from its first object on, into a copy of its own."""
        self._number += 1
        copy = _Copy(self._backend, self._home / str(self._number), self._spec.name)
        try:
            for changed in self._changes(pointer.objects()):
                for part in _slices(changed):
                    copy.store.write({self._spec.name: part})
        except BaseException:
            copy.close()
            raise
        if self._copy is not None:
            self._retired.append(self._copy)
        self._copy, self._layers = copy, ()
        return copy

    def fold(self, lock: AbstractContextManager[bool]) -> None:
        """Take layers into the copy that no held version lacks.

        Args:
            lock: Taken for each slice: it keeps readers of the copy out.
        """
        copy = self._copy
        while copy is not None and self._layers:
            layer = self._layers[-1]
            if any(s.newest < layer.number for s in list(self._states) if s.copy is copy):
                return  # an older version is being read
            for part in _slices(layer.changes):
                with lock:
                    copy.store.write({self._spec.name: part})
            self._layers = self._layers[:-1]

    def _close_retired(self) -> None:
        held = {id(state.copy) for state in list(self._states)}
        for copy in [copy for copy in self._retired if id(copy) not in held]:
            self._retired.remove(copy)
            copy.close()

    def close(self) -> None:
        """Forget all copies, those of held versions too."""
        copies = [*self._retired, *([] if self._copy is None else [self._copy])]
        self._retired, self._copy, self._at, self._layers = [], None, None, ()
        for copy in copies:
            copy.close()


def _slices(changes: StoreChanges) -> Iterator[StoreChanges]:
    """Yield changes in small parts, in their order; other threads go first between them."""
    for at in range(0, max(1, len(changes.pairs)), _SLICE):
        yield StoreChanges(changes.pairs[at : at + _SLICE], () if at else changes.ranges)
        time.sleep(0)
