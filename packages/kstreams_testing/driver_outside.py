"""The environment of a topology under test: emitters, views, and state that exists in advance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, overload

from kstreams._types import K, V
from kstreams.checkpoint.savepoint.store_place import partitioner_of, routing_of
from kstreams.clock import FakeClock
from kstreams.connection import Connection
from kstreams.emitter import Emitter
from kstreams.errors import TopologyError
from kstreams.graph.checks.partitions import Uneven
from kstreams.graph.named_topics import read_topics, written_topics
from kstreams.graph.topology import PartitionGroup, Topology
from kstreams.partitioner import Partitioner
from kstreams.state.stores.readable import FetchesAll, Ranges
from kstreams.state.stores.spec import StoreSpec
from kstreams.topic import Topic
from kstreams.views.view import View
from kstreams_testing.driver_connection import DriverConnection
from kstreams_testing.driver_tables import DriverTables
from kstreams_testing.driver_task import DriverTask
from kstreams_testing.driver_topics import DriverTopics
from kstreams_testing.driver_versions import DriverVersions

__all__ = ("DriverOutside",)

S = TypeVar("S")
"""The live type of a store."""


class DriverOutside:
    """The part of the test driver that belongs to other processes in production.

    Attributes:
        topology: The topology.
        clock: The wall clock of the driver.
    """

    topology: Topology
    clock: FakeClock
    _topics: DriverTopics
    _tables: DriverTables
    _tasks: dict[str, list[DriverTask]]
    _uneven: Uneven

    def __init__(self) -> None:
        self._batch = 0
        self._versions: DriverVersions | None = None
        self._views: list[View[Any]] = []

    def run(self) -> None:
        """Process the written records."""
        raise NotImplementedError

    @property
    def connection(self) -> Connection:
        """The driver's topics as a `Connection`, for a `TopicView` and other code."""
        groups = self.topology.groups
        for _, topic in (*read_topics(groups), *written_topics(groups)):
            self._topics.ensure(topic)
        return DriverConnection(self._topics, self.run)

    def emitter(self, topic: Topic[K, V]) -> Emitter[K, V]:
        """Return an `Emitter` that writes to a topic of the driver, timed by the driver's clock.

        `emit` processes its record at once, as a batch of one; `emit_many` processes its records as
        one batch. These calls raise the errors of processing.

        Args:
            topic: Any topic. Records of a topic that no source reads are only stored.

        Source: goka's `NewEmitter` with a tester.
        """
        return Emitter(topic, self.connection, clock=self.clock)

    def view(self, store: StoreSpec[S], *, as_of: int | None = None) -> View[S]:
        """Return a `View` of a store of the driver: each batch is a version.

        The versions begin with the state at the first call of `view`; the last hundred are
        retained. Closing the driver closes its views.

        Args:
            store: The topology's own definition of the store.
            as_of: The batch whose version the view stays at; None for the newest.

        Raises:
            CheckpointMismatchError: The topology has no such store, or another definition of it.
            StoreError: The version is not retained.

        Source: goka's `NewView` with a tester.
        """
        if self._versions is None:
            self._versions = DriverVersions(
                self.topology,
                self._tasks,
                batch=self._batch,
                wall_ms=self.clock.now_ms(),
                uneven=self._uneven,
            )
        view = View(self._versions, store, as_of=as_of)
        self._views.append(view)
        return view

    @overload
    def fill(
        self,
        store: StoreSpec[Ranges[K, tuple[K, V]]],
        rows: Mapping[K, V],
        *,
        partition: int | None = None,
    ) -> None: ...
    @overload
    def fill(
        self,
        store: StoreSpec[FetchesAll[..., tuple[K, V]]],
        rows: Mapping[K, V],
        *,
        partition: int | None = None,
    ) -> None: ...
    def fill(
        self, store: StoreSpec[Any], rows: Mapping[Any, Any], *, partition: int | None = None
    ) -> None:
        """Put rows into a store or a table without processing a record.

        Values are those of the store's read methods, as for `store_contents`: for a timestamped
        store, which most tables are, pairs of value and time (ms); for a list store tuples; for a
        versioned store `VersionedValue`s. Keys of window and session stores are `Windowed`. Joins
        use the rows of a table; downstream nodes get no change.

        A global table is filled by its store. If a table of another app is filled, the app need not
        exist.

        Args:
            store: The topology's definition of the store.
            rows: The values by key; they replace existing values.
            partition: The partition of all rows; None is the partition of each key.

        Raises:
            TopologyError: The store or the partition does not exist; or the partition of a key is
                unknown, because the store has other keys than the topics.
            StoreKindError: The store's kind cannot be filled.

        Source: goka's `Tester.SetTableValue`.
        """
        if self._tables.is_of_app(store.name):
            self._tables.fill(store, rows)
            return
        tasks = self._store_tasks(store)
        group = tasks[0].group
        place: _Places[Any] = _Places(group, self.topology, store, len(tasks), partition)
        parts: dict[int, dict[Any, Any]] = {}
        for key, value in rows.items():
            parts.setdefault(place.of(key), {})[key] = value
        self._batch += 1
        changed = [
            (tasks[number], changes)
            for number, part in parts.items()
            for changes in tasks[number].fill(store, part)
        ]
        self._tables.forget(store.name)
        if self._versions is not None:
            self._versions.keep(self._batch, self.clock.now_ms(), changed)

    def _close_views(self) -> None:
        while self._views:
            self._views.pop().close()

    def _store_tasks(self, spec: StoreSpec[Any]) -> list[DriverTask]:
        try:
            group = self.topology.group_of_store(spec.name)
        except KeyError:
            known = ", ".join(repr(s.name) for s in self.topology.stores) or "none"
            raise TopologyError(
                f"the topology has no store {spec.name!r}; stores: {known}"
            ) from None
        tasks = self._tasks[group.name]
        return tasks[: self._uneven.of_store(spec.name, len(tasks))]


class _Places(Generic[K]):
    """Chooses the partition of a key of a store."""

    def __init__(
        self,
        group: PartitionGroup,
        topology: Topology,
        store: StoreSpec[Any],
        count: int,
        partition: int | None,
    ) -> None:
        if partition is not None and not 0 <= partition < count:
            raise TopologyError(
                f"store {store.name!r} has no partition {partition}; expected 0 to {count - 1}"
            )
        self._store = store
        self._count = count
        self._fixed = partition if count > 1 else 0
        self._rule: Partitioner | None = None
        if self._fixed is None:
            given = [node.topic.partitioner for node in group.sources]
            given += [entry.partitioner for entry in group.from_tasks]
            name = routing_of(topology.shape()[group.name], store)
            self._rule = partitioner_of(name, given[0]) if name is not None else None
            if self._rule is None:
                raise TopologyError(
                    f"the partitions of the keys of store {store.name!r} are unknown: the records "
                    "of its group have keys of another serde",
                    hint="give the partition: driver.fill(store, rows, partition=0).",
                )

    def of(self, key: K) -> int:
        """Return the partition of a key."""
        if self._rule is None:
            return self._fixed or 0
        routed: Any = self._store.kind.routed_by(key)
        return self._rule.partition(self._store.key.serialize(routed), self._count)
