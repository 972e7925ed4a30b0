"""A working copy of one partition of a store, and the versions of the partition to read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Generic
from weakref import WeakSet

from kstreams.state.backend.working import StateBackend, StoreChanges, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import FixedTimes
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.views.layered_store import Layer, LayeredStore

__all__ = ("LayeredCopy", "State", "WorkingCopy", "slices")

_CACHED_READS = 1000
_SLICE = 500


class WorkingCopy:
    """A working store with its directory.

    Args:
        backend: The backend of the store.
        directory: The directory of the store.
        stores: Names of the stores in the working store.

    Attributes:
        closed: Whether the store was closed.
        store: The working store.
    """

    def __init__(self, backend: StateBackend, directory: Path, *stores: str) -> None:
        self._backend = backend
        self._directory = directory
        self.closed = False
        self.store: WorkingStore = backend.open(directory, stores)

    def close(self) -> None:
        """Close and delete the store; a second call does nothing."""
        if not self.closed:
            self.closed = True
            self.store.close()
            self._backend.remove(self._directory)


class State(Generic[S]):
    """One partition of a store at one version; it stays readable while it is referenced.

    Args:
        spec: The store.
        copy: The working copy below the layers.
        layers: The changes since the copy, newest first.
        times: The stream time and wall time by which rows expire.
        newest: Number of the newest layer that this state or its copy contains.

    Attributes:
        stored: The encoded rows.
    """

    def __init__(
        self,
        spec: StoreSpec[S],
        copy: WorkingCopy,
        layers: tuple[Layer, ...],
        times: FixedTimes,
        newest: int,
    ) -> None:
        self.copy = copy
        self._layers = layers
        self.newest = newest
        self.stored = LayeredStore(spec.name, copy.store, layers)
        self.times = times
        self._spec = spec
        self._overlay: Overlay | None = None
        self._live: S | None = None
        self._reads = 0

    def live(self) -> S:
        """Return the store's object with its read methods; only one thread at a time may use it."""
        live = self._live
        if live is None or self._overlay is None:
            self._overlay = Overlay(self.stored, times=self.times)
            live = self._live = self._spec.open(self._overlay)
        self._reads += 1
        if self._reads % _CACHED_READS == 0:
            self._overlay.forget()
        return live

    def without(self, remove: Callable[[S], object]) -> StoreChanges | None:
        """Return the changes that a function makes to the store, without applying them.

        Returns None if the function changes nothing.
        """
        overlay = Overlay(self.stored, times=self.times)
        remove(self._spec.open(overlay))
        return overlay.changes().get(self._spec.name)

    def changed_since(self, older: State[S]) -> set[bytes] | None:
        """Return the encoded keys of the rows that changed after an older state, except evictions.

        For a deleted range, the keys are those that the older state has in the range.

        Returns:
            The keys; None if the states belong to different copies, so that any row may differ.
        """
        if self.copy is not older.copy:
            return None
        fresh = [layer for layer in self._layers if layer.number > older.newest]
        found = {key for layer in fresh if not layer.evicts for key in layer.pairs}
        for layer in fresh:
            for start, end in () if layer.evicts else layer.changes.ranges:
                found.update(key for key, _ in older.stored.scan(self._spec.name, start, end))
        return found


class LayeredCopy(Generic[S]):
    """A working copy of one store, and the layers of newer changes over it.

    Changes become layers, which readers see at once: a `State` is the copy with the layers at the
    creation of the state. `fold` writes a layer into the copy when all states that are still
    referenced include the layer.

    Only one thread at a time may call the methods; other threads may read states meanwhile.

    Args:
        spec: The store.
    """

    def __init__(self, spec: StoreSpec[S]) -> None:
        self._spec = spec
        self._copy: WorkingCopy | None = None
        self._retired: list[WorkingCopy] = []
        self._layers: tuple[Layer, ...] = ()
        self._newest = 0
        self._states: WeakSet[State[S]] = WeakSet()

    def _replace(self, copy: WorkingCopy) -> None:
        """Replace the copy; the previous copy is kept as long as a state uses it."""
        if self._copy is not None:
            self._retired.append(self._copy)
        self._copy, self._layers = copy, ()

    def _add(self, changes: Sequence[StoreChanges], *, evicts: bool = False) -> None:
        """Add a layer for each of the changes, the oldest first; for `evicts`, see `Layer`."""
        layers = [Layer(each, self._newest + n, evicts) for n, each in enumerate(changes, 1)]
        self._newest += len(layers)
        self._layers = (*reversed(layers), *self._layers)

    def _state(self, copy: WorkingCopy, times: FixedTimes) -> State[S]:
        state = State(self._spec, copy, self._layers, times, self._newest)
        self._states.add(state)
        return state

    def evict(self, state: State[S], changes: StoreChanges) -> State[S]:
        """Remove rows from the copy and return the new state.

        Args:
            state: The current state.
            changes: The result of `State.without`.
        """
        self._add([changes], evicts=True)
        return self._state(state.copy, state.times)

    def fold(self, lock: AbstractContextManager[bool]) -> None:
        """Write the oldest layers into the copy, up to the first that a referenced state lacks.

        Args:
            lock: Acquired for each slice of changes, to block readers of the copy.
        """
        copy = self._copy
        while copy is not None and self._layers:
            layer = self._layers[-1]
            if any(s.newest < layer.number for s in list(self._states) if s.copy is copy):
                return  # an older version is being read
            for part in slices(layer.changes):
                with lock:
                    copy.store.write({self._spec.name: part})
            self._layers = self._layers[:-1]

    def _close_retired(self) -> None:
        held = {id(state.copy) for state in list(self._states)}
        for copy in [copy for copy in self._retired if id(copy) not in held]:
            self._retired.remove(copy)
            copy.close()

    def close(self) -> None:
        """Delete all copies, including copies that referenced states use."""
        copies = [*self._retired, *([] if self._copy is None else [self._copy])]
        self._retired, self._copy, self._layers = [], None, ()
        for copy in copies:
            copy.close()


def slices(changes: StoreChanges) -> Iterator[StoreChanges]:
    """Yield changes in small parts, in order; other threads can run between the parts."""
    for at in range(0, max(1, len(changes.pairs)), _SLICE):
        yield StoreChanges(changes.pairs[at : at + _SLICE], () if at else changes.ranges)
        time.sleep(0)
