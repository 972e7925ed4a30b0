"""One task of the test driver: its store, its overlay, and commit or abort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from kstreams.errors import KStreamsError
from kstreams.graph.topology import PartitionGroup
from kstreams.state.backend.working import Changes, WorkingStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.task.meta import TaskMeta
from kstreams.task.outputs import TaskOutput
from kstreams.task.queues import Queue
from kstreams.task.task import Task
from kstreams.testing.by_hand import ByHand

__all__ = ("DriverTask",)


class DriverTask:
    """A task that commits to a working store in this process.

    Stores handed out by `store` stay valid through commits and aborts.

    Args:
        group: The task's nodes.
        partition: The task's partition.
        working: Its stores.
        make: Makes the task anew from overlay and meta, at a wall time (ms).
        wall_ms: Wall time at the start.
    """

    def __init__(
        self,
        group: PartitionGroup,
        partition: int,
        working: WorkingStore,
        make: Callable[[Overlay, TaskMeta, int], Task],
        *,
        wall_ms: int,
    ) -> None:
        self.group = group
        self.partition = partition
        self.meta = TaskMeta()
        self.output = TaskOutput()
        self._working = working
        self._make = make
        self._overlay = Overlay(working)
        self._changes: Changes = {}
        self._task: Task | None = make(self._overlay, self.meta, wall_ms)
        self._committed = self.meta.to_json()

    def run(
        self,
        queues: Sequence[Queue],
        *,
        wall_ms: int,
        since_ms: int,
        close: bool,
        close_windows: bool = False,
    ) -> None:
        """Process one batch into `output`; then `commit` or `abort`.

        Args:
            queues: Its records.
            wall_ms: Its wall time.
            since_ms: No idleness before this wall time counts.
            close: Close the processors behind it; the next batch makes new ones.
            close_windows: Close what is open; closes the processors too.
        """
        if self._task is None:
            self._task = self._make(self._overlay, self.meta, wall_ms)
        self.output = self._task.run(
            queues, wall_ms=wall_ms, idle_since_ms=since_ms, close_windows=close_windows
        )
        self._changes = self._overlay.changes()
        self.output.changelogs = self._task.changelogs(self._changes)
        if close or close_windows:
            self._close()

    def commit(self) -> None:
        """Keep what the batch did."""
        self._working.write(self._changes)
        self._overlay.committed()
        self._committed = self.meta.to_json()
        if self._task is None:
            self._overlay.forget()

    def abort(self) -> None:
        """Return to the last commit, with new processors."""
        self._overlay.forget()
        self.meta = TaskMeta.from_json(self._committed)
        with suppress(KStreamsError):  # what failed may well not close either
            self._close()

    def store(self, spec: StoreSpec[S]) -> S:
        """Return a live store, which also takes what is put between batches."""
        return spec.open(ByHand(self._overlay))

    def close(self) -> None:
        """Close processors and store."""
        try:
            self._close()
        finally:
            self._working.close()

    def _close(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.close()
