"""The state of a streaming query on DataFrames as a source of views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kstreams.checkpoint.savepoint.store_place import partitioner_of, routing_of, store_group
from kstreams.errors import StoreError
from kstreams.partitioner import Partitioner
from kstreams.state.backend.objects import ObjectStore
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.log.commits import Commit
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.place import ViewedQuery

__all__ = ("QuerySource", "QueryStore")


@dataclass(frozen=True)
class QuerySource:
    """A streaming query on DataFrames, whose progress is in Spark's checkpoint.

    Attributes:
        viewed: The query.
    """

    viewed: ViewedQuery

    def stamp(self) -> str:
        """Return a constant, because the topology of a Spark checkpoint never changes."""
        return self.viewed.name

    def find(self, spec: StoreSpec[Any]) -> QueryStore:
        """Look up a store in the query's topology.

        Raises:
            CheckpointMismatchError: The query has no such store, or another definition of it.
        """
        group = store_group(self.viewed.name, self.viewed.topology.shape(), spec)
        return QueryStore(self.viewed, spec, group, self.viewed.log.open(), self.stamp())


class QueryStore:
    """One store of a query; a `ViewedStore`.

    Args:
        viewed: The query.
        spec: The store.
        group: Name of the partition group that owns the store.
        objects: The durable log.
        stamp: The result of `QuerySource.stamp`.
    """

    def __init__(
        self,
        viewed: ViewedQuery,
        spec: StoreSpec[Any],
        group: str,
        objects: ObjectStore,
        stamp: str,
    ) -> None:
        self.objects = objects
        self.group = group
        self.stamp = stamp
        self._viewed = viewed
        self._spec = spec
        self._partitions: int | None = None  # unknown before the first batch

    @property
    def checkpoint(self) -> object:
        """The identity of the source: the name of the query."""
        return self._viewed.name

    @property
    def query(self) -> str:
        """The name of the query."""
        return self._viewed.name

    @property
    def partitions(self) -> int:
        """The number of partitions of the store; 1 before the first batch."""
        if self._partitions is None and (batches := self.batches()):
            self.commit(batches[-1])
        return self._partitions or 1

    @property
    def epoch(self) -> str:
        """The id of the sequence of versions: the name of the query."""
        return self._viewed.name

    def task_key(self, partition: int) -> TaskKey:
        """Return the key of the task that owns a partition of the store."""
        return TaskKey(self._viewed.name, self.group, partition)

    def batches(self) -> list[int]:
        """Return the committed batches, ascending."""
        return self._viewed.batches()

    def commit(self, version: int | str) -> Commit:
        """Return the commit of a batch.

        Raises:
            StoreError: The batch is not retained; or `version` is the name of a savepoint, and
                queries have no savepoints.
        """
        if isinstance(version, str):
            raise StoreError(
                f"query {self._viewed.name!r} has no savepoints",
                hint="Give as_of= the number of a batch that Spark retains.",
            )
        found = self._viewed.committed(version)
        tasks = found.tasks.get(self.group)
        self._partitions = found.store_partitions.get(self._spec.name, tasks)
        return Commit(version, "", found.wall_ms, found.pointers)

    def routing(self) -> str | None:
        """Return the name of the partitioner of the store's keys; None if it is not known.

        Returns None also if an edge has its own partition count, because the store may then have
        fewer partitions than its group has tasks.
        """
        shape = self._viewed.topology.shape()[self.group]
        own = {entry["partitions"] for entry in shape["entries"].values()}
        if own - {None} and len(own) + len(shape["sources"]) > 1:
            return None
        return routing_of(shape, self._spec)

    def partitioner(self, given: Partitioner | None) -> Partitioner | None:
        """Return the partitioner of the store's keys: `given`, or Kafka's by default.

        Returns None if the query uses a different partitioner, or if the query's is not known.
        """
        return partitioner_of(self.routing(), given)
