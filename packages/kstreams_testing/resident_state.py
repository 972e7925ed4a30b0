"""The state of a task of the test driver: a working store in this process, always open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import TracebackType

import pyarrow as pa

from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import new_attempt
from kstreams.state.backend.working import Changes, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.durable import Attempt
from kstreams.state.log.loop_objects import LoopPart, read_loops, write_loops
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import Traffic
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.task.progress.task_meta import TaskMeta
from kstreams_testing.by_hand import ByHand

__all__ = ("ResidentState",)

_NO_POINTER = Pointer.empty()
_NO_TRAFFIC = Traffic()


class ResidentState:
    """A `TaskState` with one version, and the batch that may become the next version.

    One overlay serves all batches, so processors and the results of `store` stay valid.

    Args:
        working: The store with the rows of the current version.
        objects: Stores the records in loops until the next batch.
        partition: The number of the task.

    Attributes:
        working: The store with the rows of the current version.
        overlay: The changes of the current batch, on top of `working`.
        meta: The state of the task besides its stores.
        folder: Always None: output is in temporary files of the system.
        restored: Always False: there is no durable log.
    """

    folder = None
    restored = False

    def __init__(self, working: WorkingStore, objects: ObjectStore, partition: int) -> None:
        self.overlay = Overlay(working)
        self.meta = TaskMeta()
        self.working = working
        self._objects = objects
        self._partition = partition
        self._changes: Changes = {}
        self._kept = self.meta.to_json()

    def open(self, pointer: str | None, batch: int) -> ResidentState:  # there is one version
        """Return this object; see `TaskState`."""
        return self

    def __enter__(self) -> ResidentState:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Do nothing: after a failed batch, the driver calls `undo` for all tasks."""

    def rows(self) -> dict[str, int]:
        """Return no counts, because no report uses them."""
        return {}

    def received(self, parts: Sequence[LoopPart]) -> list[pa.Table]:
        """Return the pending loop records of the task, one table for each `LoopPart`."""
        return read_loops(self._objects, parts)

    def send(self, records: Iterable[tuple[str, int, pa.Table]]) -> tuple[LoopPart, ...]:
        """Write the records that the task sends to loops, and return them as `LoopPart`s."""
        attempt = Attempt(new_attempt(), 0)
        return write_loops(self._objects, "loops/", attempt, self._partition, records)

    def commit(self, changes: Changes) -> Pointer:
        """Keep the changes for a call of `keep` after the batch; return an empty pointer."""
        self._changes = changes
        return _NO_POINTER

    def settle(self) -> None:
        """Do nothing: there is no durable log."""

    def traffic(self) -> Traffic:
        """Return no traffic, because there is no durable log."""
        return _NO_TRAFFIC

    def keep(self) -> Changes:
        """Apply the changes passed to `commit` to `working`, and return these changes."""
        self.working.write(self._changes)
        self.overlay.committed()
        self._kept = self.meta.to_json()
        return self._changes

    def write(self, changes: Changes) -> None:
        """Apply changes to the current version, between two batches."""
        self.working.write(changes)
        self.overlay.forget()

    def write_waiting(self) -> Changes:
        """Write the puts of a test since the last batch; return the changes."""
        waiting = self.overlay.changes()
        self.write(waiting)
        return waiting

    def undo(self) -> None:
        """Return to the current version, without the changes of the failed batch."""
        self.overlay.forget()
        self.meta = TaskMeta.from_json(self._kept)

    def store(self, spec: StoreSpec[S]) -> S:
        """Return a live store, which also accepts puts between batches."""
        return spec.open(ByHand(self.overlay))

    def close(self) -> None:
        """Close the stores."""
        self.working.close()
