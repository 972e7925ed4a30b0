"""The class of views, which read a committed store of an app from any process."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Generic, TypeVar

from typing_extensions import override

from kstreams.checkpoint.savepoint.store_place import checkpoint_of
from kstreams.checkpoint.storage.named_home import CheckpointName, home_of
from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.errors import CheckpointMismatchError
from kstreams.graph.topology import Topology
from kstreams.partitioner import Partitioner
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.backend.working import StateBackend
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.commit_callbacks import Following
from kstreams.views.place import ViewedApp, ViewedQuery
from kstreams.views.query_source import QuerySource
from kstreams.views.reader import Reader
from kstreams.views.reader_settings import ReaderSettings
from kstreams.views.state_source import CheckpointSource, StateSource
from kstreams.views.versioned_reads import VersionedReads

__all__ = ("View",)

S_co = TypeVar("S_co", covariant=True)
"""The live type of a store."""


class View(VersionedReads[S_co], Generic[S_co]):
    """Reads a committed store of a running or stopped app, from any process.

    Each read sees all partitions at one committed batch, never parts of a batch: the newest batch,
    unless `as_of` fixes it. An iteration keeps the view at its version until it ends. The app is
    not disturbed: no lock is taken, and nothing is written to the checkpoint.

    A view keeps working copies of the partitions that were read, in this process's memory
    or in RocksDB below the temporary directory. A copy is restored at the first read of its
    partition; after that each commit costs the decoding of its changes, and a point read costs
    a read of the backend. Threads may share a view.

    A view has the read methods of the live store: `get`, `has`, `range` and `items` for stores
    ordered by key; `fetch` and `fetch_all` for stores with several rows of a key (results held by
    `every` and `at_most_every` are in the last store in `stores` of the aggregation); `history` for
    versioned stores; and methods of custom kinds with these names. `read`, `read_key`, `scan` and
    `scan_key` take any function of a live store.

    Args:
        source: The app's checkpoint: its directory, its URL (`s3://bucket/app`), the settings
            of its storage, or the app id of a checkpoint below `.kstreams`; or the app. For a query
            on DataFrames, a `kstreams.frames.FrameState`.
        store: The app's own definition of the store.
        log: The app's durable log, if it is not in the checkpoint.
        as_of: Stay at an earlier version: a retained batch (`App(retained_batches=...)`), or the
            name of a savepoint.
        max_age: Maximum age of a version before a read looks for a newer one. By default every read
            looks for a newer version.
        advance_every: Interval at which a background thread looks for newer versions. Reads then
            never wait for a commit to be decoded, and see the newest version that is ready. None,
            the default, starts no thread.
        backend: The backend of the working copies; by default memory, and RocksDB, if it is
            installed, for state of more than 64 MiB in the log.
        partitioner: The partitioner of the app's keys, if it is not Kafka's default. If it is
            not known, or store and topics have different key serdes, a key is searched in all
            partitions.
        clock: The clock for the age of a version.

    Raises:
        NoCheckpointError: There is no checkpoint at `source`.
        CheckpointMismatchError: The checkpoint has no such store, or another definition of it.
        StoreError: The version is not retained.
        SavepointError: There is no such savepoint.

    Source: `KafkaStreams#store` (interactive queries), for all partitions at once and at a
    consistent version; goka's `View`.
    """

    def __init__(
        self,
        source: CheckpointName | ViewedApp | ViewedQuery,
        store: StoreSpec[S_co],
        *,
        log: ObjectStoreSettings | None = None,
        as_of: int | str | None = None,
        max_age: timedelta = timedelta(0),
        advance_every: timedelta | None = None,
        backend: StateBackend | None = None,
        partitioner: Partitioner | None = None,
        clock: Clock | None = None,
    ) -> None:
        if isinstance(source, (ViewedApp, ViewedQuery)):
            partitioner = partitioner or _partitioner(source.topology, store)
        settings = ReaderSettings(
            _state_source(source, log),
            as_of,
            to_ms(max_age),
            backend,
            partitioner,
            clock or SystemClock(),
            in_background=advance_every is not None,
        )
        reader = Reader(store, settings)
        super().__init__(store, reader)
        self._advancing: Following | None = None
        if advance_every is not None:
            self._advancing = Following(reader.advance, _nothing, advance_every)

    @override
    def close(self) -> None:
        if self._advancing is not None:
            self._advancing.close()
        super().close()


def _nothing(_: int) -> None:
    """Do nothing: the callback of a background thread whose only task is to advance the view."""


def _state_source(
    source: CheckpointName | ViewedApp | ViewedQuery, log: ObjectStoreSettings | None
) -> StateSource:
    if isinstance(source, ViewedQuery):
        return QuerySource(source)
    if isinstance(source, ViewedApp):
        return CheckpointSource(home_of(source.checkpoint), log or source.log)
    return CheckpointSource(checkpoint_of(source), log)


def _partitioner(topology: Topology, store: StoreSpec[Any]) -> Partitioner | None:
    """Return the partitioner that all inputs of the store's group share; None if they differ."""
    try:
        group = topology.group_of_store(store.name)
    except KeyError as exc:
        known = ", ".join(repr(spec.name) for spec in topology.stores) or "none"
        raise CheckpointMismatchError(
            f"topology {topology.name!r} has no store {store.name!r}; its stores: {known}"
        ) from exc
    found = [node.topic.partitioner for node in group.sources]
    found += [entry.partitioner for entry in group.from_tasks]
    return found[0]
