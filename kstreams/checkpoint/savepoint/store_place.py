"""The location of a store for reads from outside the app: checkpoint, group and durable log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.parameter_notes import misread_by, recorded_parameters
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.storage.directory_home import DirectoryHome
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.checkpoint.storage.named_home import CheckpointName, app_home, home_of, is_url
from kstreams.checkpoint.storage.object_home import ObjectHome
from kstreams.errors import CheckpointMismatchError, ObjectMissingError, StoreError, Where
from kstreams.ids import TaskId
from kstreams.partitioner import Murmur2Partitioner, Partitioner
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import Commit
from kstreams.state.stores.spec import StoreSpec

__all__ = ("StorePlace", "checkpoint_of", "partitioner_of", "routing_of", "store_group")


@dataclass(frozen=True)
class StorePlace:
    """One store in a checkpoint.

    Attributes:
        checkpoint: The checkpoint, as last read.
        objects: The durable log.
        spec: The definition of the store.
        group: The name of the partition group that owns the store.
        query: The name of the query that runs the group.
        stamp: The result of `CheckpointHome.stamp`, which changes whenever the app description of
            the checkpoint is written.
    """

    checkpoint: Checkpoint
    objects: ObjectStore
    spec: StoreSpec[Any]
    group: str
    query: str
    stamp: str

    @classmethod
    def find(
        cls, home: CheckpointHome, log: ObjectStoreSettings | None, spec: StoreSpec[Any]
    ) -> StorePlace:
        """Find a store in a checkpoint.

        Raises:
            NoCheckpointError: There is no checkpoint.
            CheckpointMismatchError: The checkpoint has no such store, or another definition of it.
        """
        stamp = home.stamp()
        checkpoint = Checkpoint.load(home)
        group = _group(checkpoint, spec)
        objects = (log or checkpoint.log).open()
        return cls(checkpoint, objects, spec, group, checkpoint.query_of_group(group), stamp)

    @property
    def epoch(self) -> str:
        """Return the unique name of the epoch that the store's versions belong to."""
        return self.checkpoint.log_name(self.query)

    @property
    def partitions(self) -> int:
        """Return the number of partitions of the store, each owned by one task."""
        return self.checkpoint.partitions_of(self.spec.name, self.group)

    def task_key(self, partition: int) -> TaskKey:
        """Return the name of a task's state in the durable log."""
        return self.checkpoint.task_key(self.query, TaskId(self.group, partition))

    def batches(self) -> list[int]:
        """Return the numbers of the batches whose versions are retained, ascending."""
        return self.checkpoint.commits(self.query, self.objects).batches()

    def commit(self, version: int | str) -> Commit:
        """Return the commit of a batch (by number), or of a savepoint (by name).

        Raises:
            StoreError: The batch is not retained; the error lists the retained batches.
            SavepointError: There is no savepoint of this name.
        """
        if isinstance(version, str):
            savepoint = Savepoints(self.checkpoint, self.objects).load(version)
            query = savepoint.checkpoint.query_of_group(_group(savepoint.checkpoint, self.spec))
            return savepoint.commits[query]
        try:
            return self.checkpoint.commits(self.query, self.objects).at(version)
        except ObjectMissingError as exc:
            known = self.batches()
            raise StoreError(
                f"version {version} of store {self.spec.name!r} is not retained; "
                + (
                    f"retained are {known[0]} to {known[-1]}"
                    if known
                    else "the app has committed none yet"
                ),
                hint="App(retained_batches=...) retains more versions, a savepoint retains one.",
                where=Where(app=self.checkpoint.app, store=self.spec.name),
            ) from exc

    def routing(self) -> str | None:
        """Return the name of the partitioner from the store's keys to tasks; None if not known.

        It is known if all inputs of the group have the same partitioner and the store's key serde.
        """
        return routing_of(self.checkpoint.shape[self.group], self.spec)

    def partitioner(self, given: Partitioner | None) -> Partitioner | None:
        """Return the partitioner of the store's keys; None if it is not known.

        A partitioner other than Kafka's default is only found if it is passed as `given`.
        """
        return partitioner_of(self.routing(), given)


def routing_of(shape: Mapping[str, Any], spec: StoreSpec[Any]) -> str | None:
    """Return the name of the partitioner of a store's keys; None if it is not known.

    Args:
        shape: The shape of the store's group; see `Topology.shape`.
        spec: The definition of the store.
    """
    heads = (*shape["sources"].values(), *shape["entries"].values())
    routes = {(head["key"], head["partitioner"]) for head in heads}
    if len(routes) != 1:
        return None
    ((key, name),) = routes
    return str(name) if key == spec.key.name else None


def partitioner_of(name: str | None, given: Partitioner | None) -> Partitioner | None:
    """Return `given` if it is the partitioner with this name; None otherwise.

    If `given` is None, Kafka's default partitioner is used instead.
    """
    known = given or Murmur2Partitioner()
    return known if known.name == name else None


def checkpoint_of(source: CheckpointName) -> DirectoryHome | ObjectHome:
    """Return the storage of a checkpoint, given its location or the app id.

    A string without slashes that is not a directory in the working directory is an app id.
    """
    if isinstance(source, str) and not is_url(source):
        path = Path(source)
        if path.name == source and not path.is_dir():
            return app_home(source)
    return home_of(source)


def store_group(app: str, shape: Mapping[str, Any], spec: StoreSpec[Any]) -> str:
    """Return the name of the group that owns a store.

    Args:
        app: The app id.
        shape: `Topology.shape` of the app's topology.
        spec: The definition of the store to find.

    Raises:
        CheckpointMismatchError: The app has no such store, or another definition of it.
    """
    stores = {
        name: (group, schema)
        for group, parts in shape.items()
        for name, schema in parts["stores"].items()
    }
    if spec.name not in stores:
        near = get_close_matches(spec.name, sorted(stores), n=1)
        known = ", ".join(map(repr, sorted(stores))) or "none"
        raise CheckpointMismatchError(
            f"app {app!r} has no store {spec.name!r}: it has {known}",
            hint=f"did you mean {near[0]!r}?" if near else "",
        )
    group, schema = stores[spec.name]
    if dict(schema) != spec.schema():
        raise CheckpointMismatchError(
            f"store {spec.name!r} of app {app!r} is {dict(schema)}, not {spec.schema()}",
            hint="read the store with the definition that the app uses.",
        )
    if misread := misread_by(recorded_parameters(shape, spec.name), spec.parameters()):
        raise CheckpointMismatchError(
            f"store {spec.name!r} of app {app!r} would be misread: {misread}",
            hint="read the store with the definition that the app uses.",
        )
    return group


def _group(checkpoint: Checkpoint, spec: StoreSpec[Any]) -> str:
    return store_group(checkpoint.app, checkpoint.shape, spec)
