"""A private copy of one store of one task, and its readable versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Generic

from kstreams.state.backend.working import StateBackend, StoreChanges
from kstreams.state.cache.times import FixedTimes
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import ObjectRef, Pointer
from kstreams.state.log.store_changes import changes_of
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.views.layered_copy import LayeredCopy, State, WorkingCopy, slices

__all__ = ("Replica",)


class Replica(LayeredCopy[S], Generic[S]):
    """A working copy that follows a task's committed versions by their deltas.

    A snapshot is read once, into the copy. The decoded deltas of a later version become layers over
    the copy, so no read waits for a delta. A layer that all referenced versions include is written
    into the copy, in slices. The copy has only one store.

    Only one thread at a time may call `advance`, `fold` and `close`; other threads may read states
    meanwhile.

    Args:
        spec: The store.
        log: The durable log of the task.
        backend: The backend of the copy.
        home: An empty directory for the copy.
    """

    def __init__(
        self, spec: StoreSpec[S], log: DurableLog, backend: StateBackend, home: Path
    ) -> None:
        super().__init__(spec)
        self._log = log
        self._backend = backend
        self._home = home
        self._number = 0
        self._at: Pointer | None = None

    def advance(self, pointer: Pointer, wall_ms: int) -> State[S]:
        """Move the copy to a committed version of the task, and return its state.

        Args:
            pointer: The version.
            wall_ms: Time of the commit, ms since the epoch.

        Raises:
            StateCorruptError: An object of the version is damaged, or was deleted because the app
                retains only its last commits.
        """
        self._close_retired()
        copy, present = self._copy, self._at
        if copy is None or present is None:
            copy = self._restore(pointer)
        elif present.version_id != pointer.version_id:
            if pointer.base <= present.version <= pointer.version:
                self._add(list(self._changes(pointer.deltas_after(present.version))))
            else:
                copy = self._restore(pointer)
        self._at = pointer
        times = FixedTimes(pointer.meta.get("time", -1), wall_ms)
        return self._state(copy, times)

    def _changes(self, refs: Sequence[ObjectRef]) -> Iterator[StoreChanges]:
        return changes_of(self._log, refs, self._spec.name)

    def _restore(self, pointer: Pointer) -> WorkingCopy:
        """Read all objects of a version into a new copy, and replace the current copy."""
        self._number += 1
        copy = WorkingCopy(self._backend, self._home / str(self._number), self._spec.name)
        try:
            for changed in self._changes(pointer.objects()):
                for part in slices(changed):
                    copy.store.write({self._spec.name: part})
        except BaseException:
            copy.close()
            raise
        self._replace(copy)
        return copy

    def close(self) -> None:
        """Delete all copies, including copies that referenced versions use."""
        self._at = None
        super().close()
