"""One task of the test driver: a `TaskRun` with its state in memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kstreams.batch.worker.task_run import TaskRun
from kstreams.batch.worker.task_settings import TaskSettings
from kstreams.errors import KStreamsError
from kstreams.graph.topology import PartitionGroup
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import Changes, StateBackend, StoreChanges, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.loop_objects import LoopPart
from kstreams.state.stores.spec import S, StoreSpec
from kstreams_testing.resident_state import ResidentState

__all__ = ("DriverTask", "opened_store")


def opened_store(
    group: PartitionGroup, partition: int, backend: StateBackend | None, home: Path | None
) -> WorkingStore:
    """Open the stores of a task, in memory if there is no backend."""
    stores = [spec.name for spec in group.stores]
    if backend is None or home is None:
        return MemoryStore(stores)
    return backend.open(home / group.name / str(partition), stores)


class DriverTask:
    """Runs a task batch by batch; the driver commits or rolls back the batches of all tasks.

    Args:
        settings: The settings of the task.
        working: The store with the rows of the task.
        objects: Stores the records in loops until the next batch.
        wall_ms: The wall time at the start, ms since the epoch.

    Attributes:
        group: The nodes of the task's group.
        partition: The partition.
        state: The state.
        runner: Runs the batches.

    Raises:
        ProcessingError: A supplier or an `init` raised; the error names the node.
    """

    def __init__(
        self, settings: TaskSettings, working: WorkingStore, objects: ObjectStore, *, wall_ms: int
    ) -> None:
        self.group = settings.group
        self.partition = settings.partition
        self.state = ResidentState(working, objects, settings.partition)
        self.runner = TaskRun(settings, self.state)
        self.runner.prepare(self.state, wall_ms)

    def takes(self, part: LoopPart) -> bool:
        """Return whether a `LoopPart` has records for this task."""
        loops = (loop.name for loop in self.group.loops)
        return part.task == self.partition and part.loop in loops

    def contents(self) -> Changes:
        """Return the contents of the stores, as changes to empty stores."""
        working = self.state.working
        return {
            spec.name: StoreChanges(list(working.scan(spec.name, None, None)))
            for spec in self.group.stores
        }

    def fill(self, spec: StoreSpec[S], rows: Mapping[Any, Any]) -> tuple[Changes, ...]:
        """Put rows into a store between two batches, and return the changes in order.

        Raises:
            StoreKindError: The store's kind cannot be filled.
        """
        waiting = self.state.write_waiting()
        overlay = Overlay(self.state.working, times=self.state.overlay.times)
        store = spec.open(overlay)
        for key, value in rows.items():
            spec.kind.fill(store, key, value)
        changes = overlay.changes()
        self.state.write(changes)
        with suppress(KStreamsError):  # processors may have read the store as it was
            self.runner.discard()
        return waiting, changes

    def keep(self) -> Changes:
        """Commit the batch, and return its changes of the stores."""
        changes = self.state.keep()
        if not self.runner.has_processors:
            self.state.overlay.forget()
        return changes

    def undo(self) -> None:
        """Roll back to the last commit, with new processors."""
        self.state.undo()
        with suppress(KStreamsError):  # a failed task may also fail to close
            self.runner.discard()

    def close(self) -> None:
        """Close processors and stores."""
        try:
            self.runner.discard()
        finally:
            self.state.close()
