"""Definitions of global tables, and their typed handles."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from kstreams.partitioner import Partitioner
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.store import TimestampedStore
from kstreams.state.stores.versioned.store import VersionedKeyValueStore

__all__ = ("AppTable", "GlobalDefinition", "GlobalTable")

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


@dataclass(frozen=True)
class AppTable(Generic[K, V]):
    """A table of another app, read directly from that app's committed state.

    Args:
        checkpoint: The other app's checkpoint: its directory, URL or storage, or the app id of a
            checkpoint below `.kstreams`. The driver reads the checkpoint; executors need access
            only to its durable log.
        store: The store's definition in the other app.
        log: The other app's durable log, if it is not in its checkpoint.
        partitioner: The partitioner of the other app's keys, if it is not Kafka's default; the
            partitioner only makes reads faster.

    Source: goka's `Lookup` of a group table, at one commit.
    """

    checkpoint: str | Path | ObjectStoreSettings
    store: StoreSpec[TimestampedStore[K, V]] | StoreSpec[VersionedKeyValueStore[K, V]]
    log: ObjectStoreSettings | None = None
    partitioner: Partitioner | None = field(default=None)


@dataclass(frozen=True)
class GlobalTable(Generic[K, V]):
    """A handle on a global table, whose rows every task can read by any key.

    A global table is not a node: it has no children, and does not affect partitions.
    """

    name: str
    store: StoreSpec[Any]
    builder: object


@dataclass(frozen=True)
class GlobalDefinition:
    """A global table of a topology.

    Attributes:
        name: Name of the table.
        store: The store that tasks read.
        app: The app that owns the table; None for a table filled from a topic.
    """

    name: str
    store: StoreSpec[Any]
    app: AppTable[Any, Any] | None

    @property
    def owner(self) -> str:
        """The checkpoint of the app that owns the table; empty for this topology's tables."""
        return "" if self.app is None else str(self.app.checkpoint)
