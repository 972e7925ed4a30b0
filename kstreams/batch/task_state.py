"""Where a task's state comes from at the beginning of a batch, and goes to at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from kstreams.state.backend.working import Changes
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.loop_objects import LoopPart
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import Traffic
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("OpenState", "TaskState")


class OpenState(Protocol):
    """A task's state at one version, for one attempt at a batch."""

    @property
    def overlay(self) -> Overlay:
        """Return its stores."""
        ...

    @property
    def meta(self) -> TaskMeta:
        """Return what the task remembers besides; changed in place."""
        ...

    @property
    def folder(self) -> Path | None:
        """Return where output waits that is more than memory should hold; None for any place."""
        ...

    @property
    def restored(self) -> bool:
        """Tell whether it was made again from the durable log, as this worker had no copy."""
        ...

    def rows(self) -> dict[str, int]:
        """Return how many rows each store has, in some backends about; before this batch."""
        ...

    def received(self, parts: Sequence[LoopPart]) -> list[pa.Table]:
        """Return what is in loops for the task.

        Raises:
            StateCorruptError: It is missing, or not what was committed.
        """
        ...

    def send(self, records: Iterable[tuple[str, int, pa.Table]]) -> tuple[LoopPart, ...]:
        """Write what the task sends into loops, or stages: name, task, records, in their order.

        It counts once the driver says so. Writes nothing where there is nothing.
        """
        ...

    def commit(self, changes: Changes) -> Pointer:
        """Write a batch's changes and `meta`; return the version they lead to.

        It counts once the driver says so, who may hear of it after `settle` alone.
        """
        ...

    def settle(self) -> None:
        """Wait until the version is durable that was committed.

        Raises:
            StoreError: It could not be written.
        """
        ...

    def traffic(self) -> Traffic:
        """Return what was asked of the durable log since the state was opened."""
        ...


class TaskState(Protocol):
    """The state of one task."""

    def open(self, pointer: str | None, batch: int) -> AbstractContextManager[OpenState]:
        """Open a version of it for an attempt, which leaves no trace unless it commits.

        Args:
            pointer: The version that counts, as JSON text; None before the first.
            batch: Number of the batch.
        """
        ...
