"""A committed version of a table, in the form that is sent to workers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from kstreams.partitioner import Partitioner
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import Commit
from kstreams.state.log.pointer import Pointer

__all__ = ("TablePlace", "TableVersion")


@dataclass(frozen=True)
class TablePlace:
    """The storage location of a table: its durable log, group and store.

    Attributes:
        store: Name of the table's store.
        log_name: `Checkpoint.log_name` of the query that writes the table.
        log: The durable log.
        state_name: Name of the query's state in the durable log.
        group: Name of the group that owns the store.
        partitions: Number of tasks of the group.
        partitioner: The partitioner of keys; None if it is not known, so that a key may be in any
            partition.
    """

    store: str
    log_name: str
    log: ObjectStoreSettings
    state_name: str
    group: str
    partitions: int
    partitioner: Partitioner | None


@dataclass(frozen=True)
class TableVersion:
    """One version of a table.

    Attributes:
        place: The storage location of the table.
        texts: For each task, the pointer to its state in the durable log, as JSON text.
        wall_ms: Time of the commit, ms since the epoch.
    """

    place: TablePlace
    texts: tuple[str, ...]
    wall_ms: int

    @classmethod
    def of(cls, place: TablePlace, commit: Commit | None) -> TableVersion:
        """Return the version of a commit; an empty version if `commit` is None."""
        tasks = {} if commit is None else commit.tasks
        found = {task.partition: text for task, text in tasks.items() if task.group == place.group}
        empty = Pointer.empty().to_json()
        texts = tuple(found.get(n, empty) for n in range(place.partitions))
        return cls(place, texts, 0 if commit is None else commit.wall_ms)

    @cached_property
    def pointers(self) -> tuple[Pointer, ...]:
        """For each task, the pointer to its state in the durable log."""
        return tuple(map(Pointer.from_json, self.texts))

    @cached_property
    def name(self) -> str:
        """The directory name of the version; later versions have names that sort higher."""
        version_ids = " ".join(pointer.version_id for pointer in self.pointers)
        number = sum(pointer.version for pointer in self.pointers)
        return f"{number:020d}-{sha256(version_ids.encode()).hexdigest()[:32]}"

    @property
    def size_bytes(self) -> int:
        """Size of the version in the durable log, in bytes."""
        return sum(pointer.snapshot_bytes + pointer.delta_bytes for pointer in self.pointers)

    def task(self, partition: int) -> TaskKey:
        """Return the key of a task's state in the durable log."""
        return TaskKey(self.place.state_name, self.place.group, partition)
