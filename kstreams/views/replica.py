"""A private copy of one store of one task, brought from one version to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Generic

from kstreams.state.backend.working import StateBackend, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import FixedTimes
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.store_changes import changes_of
from kstreams.state.stores.spec import S, StoreSpec

__all__ = ("Replica",)

_CACHED_READS = 1000


@dataclass(frozen=True)
class _Copy(Generic[S]):
    """An open copy: what the backend has, read through an overlay as the typed store."""

    store: WorkingStore
    overlay: Overlay
    live: S


class Replica(Generic[S]):
    """A working copy that follows a task's committed versions by their deltas.

    Point reads cost what the backend's do, however large the store: a snapshot is read
    once, then each version costs its own deltas. Only the one store is kept.

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
        self._copy: _Copy[S] | None = None
        self._reads = 0

    def at(self, pointer: Pointer, wall_ms: int) -> S:
        """Return the store at a committed version of the task's one line of versions.

        Args:
            pointer: The version.
            wall_ms: When it was committed.

        Raises:
            StateCorruptError: An object of the version is damaged, or gone since: the app
                keeps what its last commits name.
        """
        copy = self._copy
        if copy is None or self._at is None or self._at.lineage != pointer.lineage:
            try:
                copy = self._move(pointer)
            except BaseException:
                self.close()
                raise
        copy.overlay.times = FixedTimes(pointer.meta.get("time", -1), wall_ms)
        self._reads += 1
        if self._reads % _CACHED_READS == 0:
            copy.overlay.forget()
        return copy.live

    def _move(self, pointer: Pointer) -> _Copy[S]:
        copy, present = self._copy, self._at
        if (
            copy is None
            or present is None
            or not pointer.base <= present.version <= pointer.version
        ):
            refs = pointer.objects()
            copy = self._begin()
        else:
            refs = pointer.deltas_after(present.version)
        for changed in changes_of(self._log, refs, self._spec.name):
            copy.store.write({self._spec.name: changed})
        copy.overlay.forget()
        self._at = pointer
        return copy

    def _begin(self) -> _Copy[S]:
        self.close()
        self._number += 1
        store = self._backend.open(self._directory(), [self._spec.name])
        overlay = Overlay(store)
        copy = self._copy = _Copy(store, overlay, self._spec.open(overlay))
        return copy

    def _directory(self) -> Path:
        return self._home / str(self._number)

    def close(self) -> None:
        """Forget the copy; the next read makes another."""
        copy, self._copy = self._copy, None
        self._at = None
        if copy is not None:
            copy.store.close()
            self._backend.remove(self._directory())
