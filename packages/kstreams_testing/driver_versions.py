"""The committed versions of the test driver's stores, for views."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kstreams.errors import StoreError
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.topology import Topology
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.backend.working import Changes
from kstreams.state.log.delta import DIGEST_BYTES
from kstreams.state.log.durable import Attempt, DurableLog
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.snapshot import write_snapshot
from kstreams.views.place import QueryVersion
from kstreams_testing.driver_task import DriverTask
from kstreams_testing.resident_objects import ResidentObjects

__all__ = ("DriverVersions",)

_RETAINED = 100
_MOST_DELTAS = 50


@dataclass(frozen=True)
class _Resident:
    """Settings of a durable log whose objects are in the memory of this process."""

    objects: ResidentObjects

    def open(self) -> ObjectStore:
        return self.objects


class DriverVersions:
    """Versions of the stores of a test driver, for views. Implements `ViewedQuery`.

    The versions are in memory, in the format of an app's durable log, so a `View` reads them as it
    reads those of an app.

    Args:
        topology: The topology of the driver.
        tasks: The tasks of the driver, by group.
        batch: The number of the version with the current content of the stores.
        wall_ms: The time of the version, ms since the epoch.
        uneven: Stores with fewer partitions than their group has tasks.

    Attributes:
        topology: The topology of the driver.
        name: The name of the topology.
        log: The settings of the durable log.
    """

    def __init__(
        self,
        topology: Topology,
        tasks: Mapping[str, list[DriverTask]],
        *,
        batch: int,
        wall_ms: int,
        uneven: Uneven,
    ) -> None:
        self._uneven = uneven
        self.topology = topology
        self.name = topology.name
        self.log = _Resident(ResidentObjects())
        self._counts = {group: len(each) for group, each in tasks.items()}
        self._pointers: dict[TaskId, Pointer] = {}
        self._versions: dict[int, QueryVersion] = {}
        found = [task for each in tasks.values() for task in each]
        self.keep(batch, wall_ms, [(task, task.contents()) for task in found])

    def batches(self) -> list[int]:
        """Return the batches whose state is retained, ascending: at most the last hundred."""
        return list(self._versions)

    def committed(self, batch: int) -> QueryVersion:
        """Return the state as of a batch.

        Raises:
            StoreError: The batch is not retained.
        """
        found = self._versions.get(batch)
        if found is None:
            raise StoreError(
                f"batch {batch} of the test driver is not retained",
                hint=f"the last {_RETAINED} batches after the first driver.view call are retained.",
            )
        return found

    def keep(self, batch: int, wall_ms: int, changed: Iterable[tuple[DriverTask, Changes]]) -> None:
        """Write the changes of a batch as the next version.

        Args:
            batch: The number of the batch.
            wall_ms: The time of the batch, ms since the epoch.
            changed: The tasks with their changes.
        """
        for task, changes in changed:
            name = TaskId(task.group.name, task.partition)
            before = self._pointers.get(name) or Pointer.empty()
            self._pointers[name] = self._written(task, before, changes, batch)
        texts = {task: pointer.to_json() for task, pointer in self._pointers.items()}
        versions = {
            **self._versions,
            batch: QueryVersion(wall_ms, self._counts, texts, self._uneven.stores),
        }
        kept = sorted(versions)[-_RETAINED:]
        self._versions = {each: versions[each] for each in kept}

    def _written(self, task: DriverTask, before: Pointer, changes: Changes, batch: int) -> Pointer:
        meta = task.state.meta.to_json()
        changes = {store: each for store, each in changes.items() if each}
        if not changes:
            return before.with_meta(meta)
        key = TaskKey(self.name, task.group.name, task.partition)
        log, attempt = DurableLog(self.log.objects, key), Attempt(new_attempt(), batch)
        data = log.encode(changes, before.version + 1, attempt, before.version_id)
        ref = log.put(log.ref(data, before.version + 1, attempt, "delta"), data)
        pointer = before.with_delta(ref, data[-DIGEST_BYTES:], tuple(changes))
        if len(pointer.deltas) > _MOST_DELTAS:
            pointer = write_snapshot(log, pointer, task.state.working, attempt)
        return pointer.with_meta(meta)
