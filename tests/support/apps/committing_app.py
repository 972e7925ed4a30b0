"""An app without Spark that commits batches of changes to a store, like the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from kstreams import INT64, TEXT, Serde, Topic, Topology, TopologyBuilder, filter_
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.storage.named_home import home_of
from kstreams.clock import Clock, FakeClock
from kstreams.ids import TaskId
from kstreams.partitioner import partition_of
from kstreams.state.backend.memory import Memory
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.log.commits import Commit
from kstreams.state.log.durable import Attempt
from kstreams.state.log.garbage import collect_garbage
from kstreams.state.log.pointer import Pointer
from kstreams.state.log.upkeep import Upkeep
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.versions.versions import TaskVersions
from tests.support.storage.counting_object_store import ObjectDict

PARTITIONS = 3
UPKEEP = Upkeep(merge_count=3, max_deltas=7, floor_bytes=900, small_bytes=2500, chunk_bytes=120)


def topology(spec: StoreSpec[Any], key: Serde[Any] = TEXT) -> Topology:
    builder = TopologyBuilder("viewed")
    source = builder.add_source("in", Topic("in", key, INT64))
    builder.add_processor("keep", filter_(lambda k, v: True), source, stores=[spec])
    return builder.build()


class LogInMemory:
    """A log in memory of this process."""

    def __init__(self) -> None:
        self.objects = ObjectDict()

    def open(self) -> ObjectStore:
        return self.objects


class Committing:
    """An app with a group `in` and a store in three partitions."""

    def __init__(
        self,
        path: Path,
        spec: StoreSpec[Any],
        *,
        key: Serde[Any] = TEXT,
        objects: ObjectStore | None = None,
    ) -> None:
        self.path = path
        self.spec = spec
        self.topology = topology(spec, key)
        self.checkpoint = Checkpoint.open(
            home_of(path), "viewed", self.topology, tasks={"in": PARTITIONS}
        )
        self.objects = objects or self.checkpoint.log.open()
        self.commits = self.checkpoint.commits("in", self.objects)
        self.pointers = {p: Pointer.empty() for p in range(PARTITIONS)}
        self.batch = -1

    def key_of(self, partition: int) -> TaskKey:
        return self.checkpoint.task_key("in", TaskId("in", partition))

    def commit(self, change: Callable[[Any, int], object]) -> int:
        """Call `change(store, partition)` for each partition, and commit the batch."""
        self.batch += 1
        for partition, pointer in self.pointers.items():
            versions = TaskVersions(
                Memory(),
                self.path / "queries" / "local",
                self.objects,
                self.key_of(partition),
                [self.spec.name],
                upkeep=UPKEEP,
            )
            with versions.checkout(pointer, Attempt(new_attempt(), self.batch)) as checkout:
                overlay = Overlay(checkout.store)
                change(self.spec.open(overlay), partition)
                self.pointers[partition] = checkout.commit(overlay.changes(), {})
        tasks = {TaskId("in", p): pointer.to_json() for p, pointer in self.pointers.items()}
        self.commits.append(Commit(self.batch, "run", 1000 + self.batch, tasks))
        return self.batch

    def put(self, pairs: Iterable[tuple[str, float | None]]) -> int:
        """Commit a batch that puts pairs into the partitions of their keys."""
        pairs = list(pairs)

        def change(store: Any, partition: int) -> None:
            for key, value in pairs:
                if partition_of(key.encode(), PARTITIONS) == partition:
                    store.put(key, value)

        return self.commit(change)

    def sweep(self, kept: int, clock: Clock | None = None) -> None:
        """Clean up like a query."""
        commits = self.commits.recent(kept)
        self.commits.forget_before(commits[0].batch)
        keep: dict[TaskKey, list[Pointer]] = {}
        for commit in commits:
            for task, pointer in commit.pointers().items():
                keep.setdefault(self.checkpoint.task_key("in", task), []).append(pointer)
        clock = clock or FakeClock()
        collect_garbage(self.objects, keep, clock=clock, min_age=timedelta(hours=1))
