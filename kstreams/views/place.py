"""The sources of views: apps, and streaming queries on DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from kstreams.checkpoint.storage.named_home import CheckpointName
from kstreams.graph.topology import Topology
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = ("QueryVersion", "ViewedApp", "ViewedQuery")


@runtime_checkable
class ViewedApp(Protocol):
    """The part of `App` that a view needs."""

    @property
    def topology(self) -> Topology:
        """The topology of the app."""
        ...

    @property
    def checkpoint(self) -> CheckpointName:
        """The name of the app's checkpoint."""
        ...

    @property
    def log(self) -> ObjectStoreSettings:
        """The settings of the durable log of the app."""
        ...


@runtime_checkable
class ViewedQuery(Protocol):
    """A streaming query on DataFrames, which keeps its progress in Spark's checkpoint."""

    @property
    def topology(self) -> Topology:
        """The topology of the query."""
        ...

    @property
    def name(self) -> str:
        """The name of the query for errors."""
        ...

    @property
    def log(self) -> ObjectStoreSettings:
        """The settings of the durable log of the query."""
        ...

    def batches(self) -> list[int]:
        """Return the committed batches whose state is retained, ascending."""
        ...

    def committed(self, batch: int) -> QueryVersion:
        """Return the state at a committed batch.

        Raises:
            StoreError: The batch is not retained.
            StateCorruptError: The state of the query cannot be read.
        """
        ...


@dataclass(frozen=True)
class QueryVersion:
    """The state of a query's tasks as of one committed batch.

    Attributes:
        wall_ms: The batch's wall time, ms since the epoch.
        tasks: The number of tasks by partition group.
        pointers: The committed version of each task's state, as JSON text.
        store_partitions: Partition counts of stores with fewer partitions than their group has
            tasks.
    """

    wall_ms: int
    tasks: Mapping[str, int]
    pointers: Mapping[TaskId, str]
    store_partitions: Mapping[str, int] = field(default_factory=dict)
