"""Divides the state of a stopped app among another number of partitions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from kstreams.batch.io.open_feed import publish_commit
from kstreams.batch.task_counts import count_partitions, count_records, topic_span
from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.resume import resume
from kstreams.checkpoint.start.app_settings import AppSettings
from kstreams.checkpoint.start.rescale_settings import RescaleSettings
from kstreams.checkpoint.start.rescaling import Unread
from kstreams.checkpoint.start.upgrade import Upgrade, last_commits, upgrade, upgrade_plan
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.connection import Connection
from kstreams.errors import CheckpointMismatchError, PartitionCountError
from kstreams.graph.topology import Topology
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import StateBackend

__all__ = ("Rescale", "RescalePlan", "StoreRows")


@dataclass(frozen=True)
class StoreRows:
    """The rows of one store that is divided.

    Attributes:
        store: The name of the store.
        group: The name of its partition group.
        before: The old number of partitions.
        now: The new number of partitions.
        rows: The number of rows, including index entries.
        moved: The number of rows that another task gets.
    """

    store: str
    group: str
    before: int
    now: int
    rows: int
    moved: int


@dataclass(frozen=True)
class RescalePlan:
    """The effect of a division.

    Attributes:
        stores: The stores to divide; empty if the app has the partitions of its topics.
        state_bytes: The compressed size of the state to divide, by group.
        unread: The topics with unread records in old partitions.
        problems: The reasons against the division; empty if it is possible.
    """

    stores: tuple[StoreRows, ...]
    state_bytes: dict[str, int]
    unread: tuple[Unread, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Rescale:
    """Divides the state of an app for the partitions that its topics have now.

    The queries of the divided stores start a new epoch with the divided state and the offsets of
    their last commit; new partitions are read from their start. The checkpoint does not change
    before the last step, which is one atomic write: a killed division has no effect.

    Attributes:
        home: The storage of the app's checkpoint.
        topology: The topology of the app's last run.
        connection: The connection of the topics.
        backend: The backend of temporary working copies.
        run: A unique id of this division.
        settings: The permissions of the user.
        log: The durable log of the app; None if it is in the checkpoint.
        partitions: The expected new partition count of the source topics that have changed; None
            if it is not checked.
    """

    home: CheckpointHome
    topology: Topology
    connection: Connection
    backend: StateBackend
    run: str
    settings: RescaleSettings = field(default_factory=RescaleSettings)
    log: ObjectStoreSettings | None = None
    partitions: int | None = None

    def plan(self) -> RescalePlan:
        """Return the effect of `apply`, from the last commits; changes nothing.

        The app may run meanwhile.

        Raises:
            NoCheckpointError: There is no checkpoint.
            CheckpointMismatchError: The topology is not that of the last run, or a key of a store
                is in another task than its own.
            PartitionCountError: Topics have other partition counts than expected.
        """
        checkpoint = Checkpoint.load(self.home)
        wanted = self._wanted(checkpoint)
        plan = upgrade_plan(checkpoint, wanted)
        changes = {change.store: change for change in plan.stores}
        commits = list(last_commits(checkpoint, wanted.objects).values())
        rescaling = wanted.rescaling(checkpoint, commits)
        unread = tuple(rescaling.unread(changes))
        if plan.problems:
            return RescalePlan((), {}, unread, plan.problems)
        stores: list[StoreRows] = []
        sizes: dict[str, int] = {}
        for of_group in self.topology.groups:
            division = rescaling.division(
                of_group, changes, checkpoint, wanted.objects, self.backend
            )
            if division is None:
                continue
            group = of_group.name
            olds = division.olds.values()
            sizes[group] = sum(old.snapshot_bytes + old.delta_bytes for old in olds)
            for store, (rows, moved) in division.rows().items():
                (of,) = (each for each in division.stores if each.spec.name == store)
                stores.append(StoreRows(store, group, of.before, of.now, rows, moved))
        return RescalePlan(tuple(stores), sizes, unread, ())

    def apply(self) -> Checkpoint:
        """Divide the state of the stopped app; return the new checkpoint.

        Publishes the output of the last commits first, if a crash has left it unpublished.

        Raises:
            AppLockedError: The app runs.
            NoCheckpointError: There is no checkpoint.
            CheckpointMismatchError: The state cannot be divided; nothing has changed.
            PartitionCountError: Topics have other partition counts than expected.
            LogMismatchError: The durable log is not that of the checkpoint.
            StateCorruptError: An object is missing or damaged.
        """
        with self._locked():
            checkpoint = Checkpoint.load(self.home)
            wanted = self._wanted(checkpoint)
            plan = upgrade_plan(checkpoint, wanted)
            if not plan.problems:
                for query in checkpoint.queries:
                    last = resume(checkpoint, query, wanted.objects).last
                    if last is not None:
                        wanted.publish(last)
            return upgrade(checkpoint, wanted)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        lock = self.home.lock()
        lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def _wanted(self, checkpoint: Checkpoint) -> Upgrade:
        if checkpoint.shape != self.topology.shape():
            raise CheckpointMismatchError(
                f"topology {self.topology.name!r} is not the one that app {checkpoint.app!r} ran "
                "last: its stores, sources or their settings have changed",
                hint="divide the state with the topology of the last run, then start the changed "
                "topology. `kstreams plan` shows the changes.",
            )
        counts = count_partitions(self.connection, self.topology)
        self._check_count(checkpoint, counts.tasks)
        objects = (self.log or checkpoint.log).open()
        parts = self.connection, self.topology
        return Upgrade(
            AppSettings(checkpoint.app, self.home, self.backend, on_more_partitions=self.settings),
            self.topology,
            counts.tasks,
            objects,
            self.run,
            partial(count_records, *parts),
            partial(publish_commit, *parts, objects=objects),
            counts.uneven,
            partial(topic_span, *parts),
        )

    def _check_count(self, checkpoint: Checkpoint, tasks: dict[str, int]) -> None:
        """Raise an error if a changed group has other partitions than the user expects."""
        changed = {
            group: count for group, count in tasks.items() if count != checkpoint.tasks[group]
        }
        wrong = {group: count for group, count in changed.items() if count != self.partitions}
        if self.partitions is not None and wrong:
            listed = ", ".join(f"{group!r} has {count}" for group, count in sorted(wrong.items()))
            raise PartitionCountError(
                f"expected {self.partitions} partitions, but group {listed}",
                hint="add the partitions to the topics first, or leave out --partitions.",
            )
