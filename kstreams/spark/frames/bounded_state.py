"""The state of a task that runs once: it starts empty and is discarded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from kstreams.batch.worker.task_state import OpenState
from kstreams.errors import StoreError
from kstreams.graph.topology import PartitionGroup
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import Changes, StateBackend
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.loop_objects import LoopPart
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import Traffic
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("BoundedState", "NoLog")


@dataclass(frozen=True)
class NoLog:
    """The log settings of a run without a durable log."""

    def open(self) -> ObjectStore:
        """Raise an error, because there is no durable log.

        Raises:
            StoreError: Always.
        """
        raise StoreError("a run on bounded DataFrames has no durable log")


@dataclass(frozen=True)
class BoundedState:
    """A `TaskState` in a temporary directory, without a durable log, for one batch.

    Attributes:
        backend: The backend of the working store.
        group: The group of the task.
    """

    backend: StateBackend
    group: PartitionGroup

    @contextmanager
    def open(self, pointer: str | None, batch: int) -> Iterator[OpenState]:
        """Open an empty state; see `TaskState`."""
        with TemporaryDirectory(prefix="kstreams-bounded-") as home:
            directory = Path(home) / "state"
            store = self.backend.open(directory, [spec.name for spec in self.group.stores])
            try:
                yield _Opened(Overlay(store), Path(home))
            finally:
                store.close()
                self.backend.remove(directory)


_NO_LOOPS = "loops need several batches, and a run on bounded DataFrames has one: use an App"


@dataclass(frozen=True)
class _Opened:
    overlay: Overlay
    folder: Path
    meta: TaskMeta = field(default_factory=TaskMeta)
    restored: bool = False

    def rows(self) -> dict[str, int]:
        """Return an empty dict, because no report uses the row counts."""
        return {}

    def received(self, parts: Sequence[LoopPart]) -> list[pa.Table]:
        """Raise a `StoreError`: a bounded run has no earlier batch whose loops sent records."""
        raise StoreError(_NO_LOOPS)

    def send(self, records: Iterable[tuple[str, int, pa.Table]]) -> tuple[LoopPart, ...]:
        """Raise a `StoreError` if there are records: a bounded run has no later batch for loops."""
        for _ in records:
            raise StoreError(_NO_LOOPS)
        return ()

    def commit(self, changes: Changes) -> Pointer:
        """Discard the changes, because there is no later batch."""
        return Pointer.empty()

    def settle(self) -> None:
        """Do nothing: there is no durable log."""

    def traffic(self) -> Traffic:
        """Return zero requests, because there is no durable log."""
        return Traffic()
