"""The interfaces to the state of a task: opening a version and committing a new one."""

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
        """Return the folder for output beyond the memory limit; None for a temporary folder."""
        ...

    @property
    def restored(self) -> bool:
        """Return whether the state was restored from the durable log.

        The worker had no copy in that case.
        """
        ...

    def rows(self) -> dict[str, int]:
        """Return the number of rows of each store before the batch; some backends estimate it."""
        ...

    def received(self, parts: Sequence[LoopPart]) -> list[pa.Table]:
        """Return the records that loops sent to the task, one table for each `LoopPart`.

        Raises:
            StateCorruptError: The records are missing, or differ from the committed ones.
        """
        ...

    def send(self, records: Iterable[tuple[str, int, pa.Table]]) -> tuple[LoopPart, ...]:
        """Write records for loops and staged output to the durable log, in the given order.

        `records` has the name of the loop or sink, the receiving task (for staged output, this
        task), and the table. Returns one part for each. The records are valid only if the driver
        commits them. Nothing is written without records.
        """
        ...

    def commit(self, changes: Changes) -> Pointer:
        """Write the changes of a batch and `meta`; return the new version.

        The version is valid only if the driver commits it, which it may do only after `settle`.
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
        """Open a version of the state for an attempt; unless `commit` is called, nothing changes.

        Args:
            pointer: The committed version, as JSON text; None before the first commit.
            batch: Number of the batch.
        """
        ...
