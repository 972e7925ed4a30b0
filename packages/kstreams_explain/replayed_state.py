"""The state of a replayed task: read from the durable log, and changed in memory only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import Changes, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.loop_objects import LoopPart, read_loops
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import Traffic
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("OverlayOf", "ReplayedState")

OverlayOf = Callable[[WorkingStore], Overlay]
"""Creates the overlay through which a task reads and writes its stores."""


class ReplayedState:
    """A `TaskState` and its `OpenState` in memory, for replays; it writes nothing.

    Args:
        log: The task's part of the durable log.
        stores: Names of the task's stores.
        overlay: Creates the overlay of the stores.

    Attributes:
        stores: Names of the task's stores, including stores of the opened version.
        working: The stores at the opened version.
        meta: The metadata of the task.
        changes: The changes of the batch; None before its end.
        sent: Number of records that the task sent into loops.
        folder: Always None: output buffers are in the temporary directory of the system.
        restored: Always False: a replay reports no restore.
    """

    folder = None
    restored = False

    def __init__(
        self, log: DurableLog, stores: Sequence[str], overlay: OverlayOf = Overlay
    ) -> None:
        self._log = log
        self.stores: Sequence[str] = stores
        self._overlay = overlay
        self._pointer = Pointer.empty()
        self.working: WorkingStore = MemoryStore(stores)
        self.overlay = overlay(self.working)
        self.meta = TaskMeta()
        self.changes: Changes | None = None
        self.sent = 0

    @contextmanager
    def open(self, pointer: str | None, batch: int) -> Iterator[ReplayedState]:  # any batch
        """Restore a version from the durable log.

        Raises:
            StateCorruptError: An object of the version is damaged or was deleted.
        """
        self._pointer = Pointer.empty() if pointer is None else Pointer.from_json(pointer)
        self.stores = sorted({*self.stores, *self._pointer.stores})
        self.working = MemoryStore(self.stores)
        self._log.restore(self._pointer, self.working)
        self.overlay = self._overlay(self.working)
        self.meta = TaskMeta.from_json(self._pointer.meta)
        yield self

    def rows(self) -> dict[str, int]:
        """Return no counts: a replay reports nothing."""
        return {}

    def received(self, parts: Sequence[LoopPart]) -> list[pa.Table]:
        """Read the records of loop parts from the durable log, one table for each `LoopPart`."""
        return read_loops(self._objects, parts)

    @property
    def _objects(self) -> ObjectStore:
        return self._log.objects

    def send(self, records: Iterable[tuple[str, int, pa.Table]]) -> tuple[LoopPart, ...]:
        """Add the number of records for loops to `sent`; write nothing, and return no parts."""
        self.sent += sum(table.num_rows for _, _, table in records)
        return ()

    def commit(self, changes: Changes) -> Pointer:
        """Keep the changes in `changes` without writing them; return the current pointer."""
        self.changes = {store: changed for store, changed in changes.items() if changed}
        return self._pointer.with_meta(self.meta.to_json())

    def advanced(self) -> WorkingStore:
        """Apply the changes of the batch to `working`, and return `working`."""
        if self.changes:
            self.working.write(self.changes)
        return self.working

    def settle(self) -> None:
        """Do nothing, because a replay writes nothing."""

    def traffic(self) -> Traffic:
        """Return no traffic: a replay reports nothing."""
        return Traffic()
