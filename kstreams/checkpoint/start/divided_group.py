"""Divides the state of a partition group among another number of tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.new_epochs import copy_store, rewritten
from kstreams.checkpoint.start.divided_meta import divided_meta
from kstreams.checkpoint.start.key_routes import KeyRoute
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TaskId
from kstreams.scratch import scratch_directory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.working import StateBackend, WorkingStore
from kstreams.state.log.durable import DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.division import Owners, StoreDivision, count_rows
from kstreams.state.stores.spec import StoreSpec
from kstreams.task.progress.task_meta import TaskMeta

__all__ = ("DividedStore", "GroupDivision")


@dataclass(frozen=True)
class DividedStore:
    """A store whose partition count changes.

    Attributes:
        spec: The definition of the store.
        route: The rule by which its keys determine tasks.
        before: The old number of partitions.
        now: The new number of partitions.
    """

    spec: StoreSpec[Any]
    route: KeyRoute
    before: int
    now: int


@dataclass(frozen=True)
class GroupDivision:
    """Divides the state of all tasks of a group; writes only new objects.

    Attributes:
        old: The checkpoint with the old number of tasks.
        made: The checkpoint with the new number of tasks.
        group: The group.
        olds: The pointer of each old task that has one, by number.
        stores: The stores to divide. Other stores of the group stay in their tasks.
        kept: The names of the stores that stay in their tasks.
        objects: The durable log.
        backend: The backend of temporary working copies.
    """

    old: Checkpoint
    made: Checkpoint
    group: PartitionGroup
    olds: Mapping[int, Pointer]
    stores: Sequence[DividedStore]
    kept: Collection[str]
    objects: ObjectStore
    backend: StateBackend

    def run(self) -> dict[TaskId, Pointer]:
        """Return the pointer of each new task.

        Raises:
            CheckpointMismatchError: A key is in another task than its own.
            ProcessingError: A partitioner raised.
            StateCorruptError: An object is missing or damaged.
        """
        count = self.made.tasks[self.group.name]
        names = sorted(spec.name for spec in self.group.stores)
        metas = {number: TaskMeta.from_json(old.meta) for number, old in self.olds.items()}
        found: dict[TaskId, Pointer] = {}
        with scratch_directory() as home, self._opened(home, count, names) as targets:
            self._divide(home, targets, names)
            for number, target in enumerate(targets):
                task = TaskId(self.group.name, number)
                log = DurableLog(self.objects, self.made.task_key(self._query(self.made), task))
                meta = divided_meta(metas, number, count, self.kept)
                pointer = self.olds.get(number, Pointer.empty()).with_meta(meta.to_json())
                found[task] = rewritten(log, pointer, target, tuple(names))
        return found

    def rows(self) -> dict[str, tuple[int, int]]:
        """Return, by divided store, the number of its rows, and of the rows that change tasks.

        Writes nothing. Index entries are rows, too. Raises the errors of `run`.
        """
        found = {store.spec.name: (0, 0) for store in self.stores}
        with scratch_directory() as home:
            for number, source in self._sources(home):
                for store in self.stores:
                    counts = count_rows(store.spec, source, self._owners(store, number))
                    rows, moved = found[store.spec.name]
                    total = sum(counts.values())
                    found[store.spec.name] = rows + total, moved + total - counts.get(number, 0)
        return found

    def _divide(self, home: Path, targets: Sequence[WorkingStore], names: Sequence[str]) -> None:
        divisions = {
            store.spec.name: (store, StoreDivision(store.spec, targets[: store.now]))
            for store in self.stores
        }
        for number, source in self._sources(home):
            for name in names:
                if name in divisions:
                    store, division = divisions[name]
                    division.add(source, self._owners(store, number))
                elif name in self.kept and number < len(targets):
                    copy_store(source, targets[number], name)
        for _, division in divisions.values():
            division.finish()

    def _owners(self, store: DividedStore, partition: int) -> Owners:
        return partial(
            store.route.owners,
            spec=store.spec,
            partition=partition,
            before=store.before,
            now=store.now,
        )

    def _sources(self, home: Path) -> Iterator[tuple[int, WorkingStore]]:
        """Yield the number and the restored state of each old task; one is open at a time."""
        present = {spec.name for spec in self.group.stores}
        for number, pointer in sorted(self.olds.items()):
            task = TaskId(self.group.name, number)
            log = DurableLog(self.objects, self.old.task_key(self._query(self.old), task))
            place = home / f"old-{number}"
            stores = sorted({*pointer.stores, *present})
            with closing(self.backend.open(place, stores)) as source:
                log.restore(pointer, source)
                yield number, source
            self.backend.remove(place)

    @contextmanager
    def _opened(self, home: Path, count: int, names: Sequence[str]) -> Iterator[list[WorkingStore]]:
        """Open an empty working store for each new task."""
        opened: list[WorkingStore] = []
        try:
            for number in range(count):
                opened.append(self.backend.open(home / f"new-{number}", names))
            yield opened
        finally:
            for number, store in enumerate(opened):
                store.close()
                self.backend.remove(home / f"new-{number}")

    def _query(self, checkpoint: Checkpoint) -> str:
        return checkpoint.query_of_group(self.group.name)
