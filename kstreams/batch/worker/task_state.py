"""The state of a task: its open and its commit."""

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
        """Return the overlay of the stores."""
        ...

    @property
    def meta(self) -> TaskMeta:
        """Return the metadata of the task, which the task changes in place."""
        ...

    @property
    def folder(self) -> Path | None:
        """Return the folder for output that exceeds the memory limit; None for any folder."""
        ...

    @property
    def restored(self) -> bool:
        """Return whether the state was restored from the durable log.

        The worker had no copy in that case.
        """
        ...

    def rows(self) -> dict[str, int]:
        """Return the number of rows of each store before the batch, in some backends about."""
        ...

    def received(self, parts: Sequence[LoopPart]) -> list[pa.Table]:
        """Return the records in loops for the task.

        Raises:
            StateCorruptError: The records are missing, or differ from the committed ones.
        """
        ...

    def send(self, records: Iterable[tuple[str, int, pa.Table]]) -> tuple[LoopPart, ...]:
        """Write the task's records for loops or staging: name, task and records, in order.

        The records count when the driver commits them. Nothing is written without records.
        """
        ...

    def commit(self, changes: Changes) -> Pointer:
        """Write the changes of a batch and `meta`; return the new version.

        The version counts when the driver commits it, which may only happen after `settle`.
        """
        ...

    def settle(self) -> None:
        """Wait until the committed version is durable.

        Raises:
            StoreError: The version could not be written.
        """
        ...

    def traffic(self) -> Traffic:
        """Return the requests to the durable log since the state was opened."""
        ...


class TaskState(Protocol):
    """The state of one task."""

    def open(self, pointer: str | None, batch: int) -> AbstractContextManager[OpenState]:
        """Open a version of the state for an attempt; without a commit, nothing changes.

        Args:
            pointer: The committed version, as JSON text; None before the first.
            batch: Number of the batch.
        """
        ...
