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
    """One store, for as long as the description of its place does not change."""

    @property
    def checkpoint(self) -> object:
        """Return the description of the place, which changes with a reset."""
        ...

    @property
    def stamp(self) -> str:
        """Return the source's when this was found."""
        ...

    @property
    def epoch(self) -> str:
        """Return the epoch of its versions, which is unique among all apps."""
        ...

    @property
    def objects(self) -> ObjectStore:
        """Return the durable log."""
        ...

    @property
    def group(self) -> str:
        """Return the name of the group that has the store."""
        ...

    @property
    def query(self) -> str:
        """Return the name of the query that runs the group."""
        ...

    @property
    def partitions(self) -> int:
        """Return how many tasks have a part of the store."""
        ...

    def task_key(self, partition: int) -> TaskKey:
        """Return whose copies those of a partition are."""
        ...

    def batches(self) -> list[int]:
        """Return the batches whose versions are retained, rising."""
        ...

    def commit(self, version: int | str) -> Commit:
        """Return the commit of a batch, or of a savepoint.

        Raises:
            StoreError: The batch is not retained.
            SavepointError: There is no savepoint of this name.
        """
        ...

    def routing(self) -> str | None:
        """Return the name of the rule that leads from the store's keys to tasks, if known."""
        ...

    def partitioner(self, given: Partitioner | None) -> Partitioner | None:
        """Return the partitioner of the store's keys; None if it is unknown."""
        ...


class StateSource(Protocol):
    """A source of committed state: a checkpoint, or a query on DataFrames."""

    def stamp(self) -> str:
        """Return a text that changes with the description of the source."""
        ...

    def find(self, spec: StoreSpec[Any]) -> ViewedStore:
        """Look up a store.

        Raises:
            NoCheckpointError: There is no such source.
            CheckpointMismatchError: It has no such store, or has it as something else.
        """
        ...


@dataclass(frozen=True)
class CheckpointSource:
    """The checkpoint of an app.

    Attributes:
        home: The home of the checkpoint.
        log: The durable log, if it is not in the checkpoint.
    """

    home: CheckpointHome
    log: ObjectStoreSettings | None = None

    def stamp(self) -> str:
        """Return the checkpoint's."""
        return self.home.stamp()

    def find(self, spec: StoreSpec[Any]) -> ViewedStore:
        """Look up a store; see `StorePlace.find`."""
        return StorePlace.find(self.home, self.log, spec)
