"""The state of a worker's task: versions in the durable log, with copies on the worker's disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from kstreams.batch.worker.stage_settings import StageSettings
from kstreams.batch.worker.task_state import OpenState
from kstreams.batch.worker.worker_state import WorkerState
from kstreams.ids import TaskId
from kstreams.state.backend.task_key import TaskKey, loops_prefix, new_attempt
from kstreams.state.backend.working import Changes
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.row_cache import RowCache
from kstreams.state.log.durable import Attempt
from kstreams.state.log.loop_objects import LoopPart, read_loops, write_loops
from kstreams.state.log.pack_reads import PackCache, PackReads
from kstreams.state.log.packs import Packs
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.traffic import CountedObjects, Traffic
from kstreams.state.versions.checkout import Checkout
from kstreams.state.versions.local import open_local_home
from kstreams.state.versions.versions import TaskVersions
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("VersionedState",)


@dataclass(frozen=True)
class VersionedState:
    """A `TaskState` of versions in the durable log, with copies on the worker's disk.

    Attributes:
        settings: The settings of the stage.
        task: The id of the task.
        worker: The state of the worker.
        packs: The packs of the batch for small deltas; None gives each delta its own object.
        pack_cache: The packs that tasks have restored their state from in this batch.
    """

    settings: StageSettings
    task: TaskId
    worker: WorkerState
    packs: Packs | None = None
    pack_cache: PackCache = field(default_factory=PackCache)

    @contextmanager
    def open(self, pointer: str | None, batch: int) -> Iterator[OpenState]:
        """Open a version for an attempt; see `TaskState`."""
        query, app = self.settings.query, self.settings.query.app
        key, stores = query.task_key(self.task), self.settings.group.stores
        found = Pointer.empty() if pointer is None else Pointer.from_json(pointer)
        log = CountedObjects(self.worker.log(query.log))
        home = open_local_home(app.state, app.app_id, query.epoch)
        versions = TaskVersions(
            app.state,
            home,
            PackReads(log, self.pack_cache),
            key,
            [spec.name for spec in stores],
            upkeep=app.upkeep,
            background=self.worker.background,
            open_versions=self.worker.open_versions,
            packs=self.packs,
        )
        attempt = Attempt(new_attempt(), batch)
        loops = loops_prefix(query.state_name, query.epoch)
        with versions.checkout(found, attempt) as checkout:
            names = [spec.name for spec in stores]
            yield _Opened(checkout, key, self.worker.rows, log, home, loops, names, self.packs)


class _Opened:
    """A version of the state that is open for an attempt."""

    def __init__(
        self,
        checkout: Checkout,
        task: TaskKey,
        rows: RowCache,
        log: CountedObjects,
        home: Path,
        loops: str,
        stores: Sequence[str],
        packs: Packs | None,
    ) -> None:
        pointer = checkout.pointer
        self.overlay = Overlay(checkout.store, rows.take(task, pointer.version_id))
        self._names = stores
        self.meta = TaskMeta.from_json(pointer.meta)
        self.folder = home
        self.restored = not checkout.warm
        self._checkout = checkout
        self._task = task
        self._rows = rows
        self._log = log
        self._loops = loops
        self._packs = packs

    def rows(self) -> dict[str, int]:
        """Return the number of rows of each store; see `OpenState`."""
        return {name: self._checkout.store.count(name) for name in self._names}

    def received(self, parts: Sequence[LoopPart]) -> list[pa.Table]:
        """Return the records in loops for the task; see `OpenState`."""
        return read_loops(self._log, parts)

    def send(self, records: Iterable[tuple[str, int, pa.Table]]) -> tuple[LoopPart, ...]:
        """Write the task's records for loops; see `OpenState`."""
        attempt = self._checkout.attempt
        return write_loops(self._log, self._loops, attempt, self._task.partition, records)

    def commit(self, changes: Changes) -> Pointer:
        """Add a version; see `OpenState`."""
        committed = self._checkout.begin_commit(changes, self.meta.to_json())
        self._rows.keep(self._task, committed.version_id, self.overlay)
        return committed

    def settle(self) -> None:
        """Wait until the version is durable; see `OpenState`."""
        self._checkout.settle()

    def traffic(self) -> Traffic:
        """Return the requests to the durable log; see `OpenState`.

        The first of the tasks that share a pack also returns the requests for the pack.
        """
        own = self._log.take()
        return own if self._packs is None else own + self._packs.traffic()
