"""The source of committed state for views, and its versions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kstreams.checkpoint.savepoint.store_place import StorePlace
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.partitioner import Partitioner
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import Commit
from kstreams.state.stores.spec import StoreSpec

__all__ = ("CheckpointSource", "StateSource", "ViewedStore")


class ViewedStore(Protocol):
    """One store in its source, valid as long as `StateSource.stamp` of the source is the same."""

    @property
    def checkpoint(self) -> object:
        """The identity of the checkpoint or query, which changes with a reset."""
        ...

    @property
    def stamp(self) -> str:
        """The result of `StateSource.stamp` when the store was looked up."""
        ...

    @property
    def epoch(self) -> str:
        """The epoch of the store's versions, which is unique among all apps."""
        ...

    @property
    def objects(self) -> ObjectStore:
        """The durable log."""
        ...

    @property
    def group(self) -> str:
        """The name of the partition group that owns the store."""
        ...

    @property
    def query(self) -> str:
        """The name of the query that runs the group."""
        ...

    @property
    def partitions(self) -> int:
        """The number of partitions of the store: one per task."""
        ...

    def task_key(self, partition: int) -> TaskKey:
        """Return the key of the task that owns a partition of the store."""
        ...

    def batches(self) -> list[int]:
        """Return the batches whose versions are retained, ascending."""
        ...

    def commit(self, version: int | str) -> Commit:
        """Return the commit of a batch, or of a savepoint.

        Raises:
            StoreError: The batch is not retained.
            SavepointError: There is no savepoint of this name.
        """
        ...

    def routing(self) -> str | None:
        """Return the name of the partitioner of the store's keys; None if it is not known."""
        ...

    def partitioner(self, given: Partitioner | None) -> Partitioner | None:
        """Return the partitioner of the store's keys: `given`, or Kafka's by default.

        Returns None if the app uses a different partitioner, or if the app's is not known.
        """
        ...


class StateSource(Protocol):
    """A source of committed state: a checkpoint, or a query on DataFrames."""

    def stamp(self) -> str:
        """Return a text that changes when stores must be looked up again, as after an upgrade."""
        ...

    def find(self, spec: StoreSpec[Any]) -> ViewedStore:
        """Look up a store.

        Raises:
            NoCheckpointError: The source does not exist.
            CheckpointMismatchError: The source has no such store, or another definition of it.
        """
        ...


@dataclass(frozen=True)
class CheckpointSource:
    """The checkpoint of an app.

    Attributes:
        home: The storage of the checkpoint.
        log: The durable log, if it is not in the checkpoint.
    """

    home: CheckpointHome
    log: ObjectStoreSettings | None = None

    def stamp(self) -> str:
        """Return a text that changes with each revision of the app; empty without a checkpoint."""
        return self.home.stamp()

    def find(self, spec: StoreSpec[Any]) -> ViewedStore:
        """Look up a store; see `StorePlace.find`."""
        return StorePlace.find(self.home, self.log, spec)
