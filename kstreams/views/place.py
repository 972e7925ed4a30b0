"""What a view looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kstreams.checkpoint.named_home import CheckpointName
from kstreams.graph.topology import Topology
from kstreams.ids import TaskId
from kstreams.state.backend.objects import ObjectStoreSettings

__all__ = ("QueryVersion", "ViewedApp", "ViewedQuery")


@runtime_checkable
class ViewedApp(Protocol):
    """What a view needs of an `App`."""

    @property
    def topology(self) -> Topology:
        """Return what it runs."""
        ...

    @property
    def checkpoint(self) -> CheckpointName:
        """Return what its checkpoint is called by."""
        ...

    @property
    def log(self) -> ObjectStoreSettings:
        """Return where its durable log is."""
        ...


@runtime_checkable
class ViewedQuery(Protocol):
    """What a view needs of a streaming query that keeps its progress elsewhere: on DataFrames."""

    @property
    def topology(self) -> Topology:
        """Return what it runs."""
        ...

    @property
    def name(self) -> str:
        """Return what it is called in errors."""
        ...

    @property
    def log(self) -> ObjectStoreSettings:
        """Return where its durable log is."""
        ...

    def batches(self) -> list[int]:
        """Return the committed batches whose state can be asked for, rising."""
        ...

    def committed(self, batch: int) -> QueryVersion:
        """Return the state as of a committed batch.

        Raises:
            StoreError: It is not retained.
            StateCorruptError: What the query has there cannot be read.
        """
        ...


@dataclass(frozen=True)
class QueryVersion:
    """The state of a query's tasks as of one committed batch.

    Attributes:
        wall_ms: The batch's wall time, ms since the epoch.
        tasks: By partition group, how many tasks it has.
        pointers: By task, the version of its state that counts, as JSON text.
    """

    wall_ms: int
    tasks: Mapping[str, int]
    pointers: Mapping[TaskId, str]
