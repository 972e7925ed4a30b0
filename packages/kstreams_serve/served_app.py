"""The stores of one app at committed versions, which advance in the background."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.savepoint.savepoints import Savepoints
from kstreams.checkpoint.savepoint.store_place import StorePlace
from kstreams.checkpoint.storage.home import CheckpointHome
from kstreams.clock import SystemClock
from kstreams.errors import KStreamsError
from kstreams.partitioner import Partitioner
from kstreams.quoting import repr_of
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.stores.spec import StoreSpec
from kstreams.telemetry.counters import Counters
from kstreams.telemetry.live import Live
from kstreams.telemetry.outline import Outline
from kstreams.views.pinned import Pinned
from kstreams.views.reader import Reader
from kstreams.views.reader_settings import ReaderSettings
from kstreams.views.state_source import CheckpointSource
from kstreams_admin.moments import iso
from kstreams_admin.status import QueryStatus, query_statuses
from kstreams_admin.telemetry_reader import TelemetryReader
from kstreams_serve.parameters import check_name
from kstreams_serve.problems import Problem
from kstreams_serve.restoring import Restoring
from kstreams_serve.settings import Limits

__all__ = ("AppSource", "AppTelemetry", "FindSpec", "ServedApp", "ServedStore")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))
_KEPT = 8
_FRESH_SECONDS = 1.0
_FRESH_SECONDS_OF_OBJECTS = 10.0
_OLDER = 4

_ATTEMPTS = 5
_NEAR_SECONDS = 0.02
_FAR_SECONDS = 1.0
_RESTORES = 2
_LINE = 32

_Older = tuple[str, object]
"""The epoch of a version, and either its batch or, for a savepoint, its commit."""

FindSpec = Callable[[Checkpoint, str], StoreSpec[Any]]
"""Returns the definition of a store, by checkpoint and store name."""


@dataclass(frozen=True)
class AppSource:
    """An app, and the settings for reading its stores.

    Args:
        home: The checkpoint.
        find_spec: Returns the definition of a store; see `FindSpec`.
        log: The durable log, if it differs from that of the checkpoint.
        partitioner: The partitioner of the app's keys, if it is not Kafka's default.
        code: The options of `kstreams explain` with the app's topology and connection; None if the
            server must not run the app's code.
    """

    home: CheckpointHome
    find_spec: FindSpec
    log: ObjectStoreSettings | None = None
    partitioner: Partitioner | None = None
    code: tuple[str, ...] | None = None


class ServedStore:
    """A store: its newest version, and a few requested older versions.

    Args:
        source: The app.
        spec: The definition.
        restoring: Runs blocking work.
    """

    def __init__(self, source: AppSource, spec: StoreSpec[Any], restoring: Restoring) -> None:
        self.spec = spec
        self._source = source
        self._restoring = restoring
        self.newest: Reader[Any] = self._reader(None)
        self._older: OrderedDict[_Older, Reader[Any]] = OrderedDict()
        self._older_lock = threading.Lock()

    def _reader(self, as_of: int | str | None) -> Reader[Any]:
        source = self._source
        settings = ReaderSettings(
            CheckpointSource(source.home, source.log),
            as_of,
            max_age_ms=0,
            backend=None,
            partitioner=source.partitioner,
            clock=SystemClock(),
            in_background=True,
            kept=_KEPT if as_of is None else 0,
        )
        return Reader(self.spec, settings)

    async def pin(
        self, as_of: int | str | None, partitions: Sequence[int] | None = None
    ) -> Pinned[Any]:
        """Return a pinned version.

        Args:
            as_of: A batch or the name of a savepoint; None is the newest version.
            partitions: The partitions to read; None is all.

        Raises:
            Problem: Partitions are being restored; the client should retry.
            StoreError: The version is not retained.
            SavepointError: The savepoint does not exist.
        """
        if as_of is None or (isinstance(as_of, int) and self.newest.has(as_of)):
            found = self.newest.pin(partitions, as_of)
            if found is not None:
                return found
        if as_of is None or as_of == self.newest.version:
            return await self._restored(self.newest, partitions)
        reader = await self._restoring.result((self, as_of), lambda: self._older_reader(as_of))
        return reader.pin(partitions) or await self._restored(reader, partitions)

    async def _restored(self, reader: Reader[Any], partitions: Sequence[int] | None) -> Pinned[Any]:
        wanted = tuple(range(reader.partitions) if partitions is None else partitions)
        for _ in range(_ATTEMPTS):
            await self._restoring.result((reader, wanted), lambda: reader.restore(wanted))
            found = reader.pin(partitions)
            if found is not None:
                return found
        raise Problem(
            503,
            f"the app was reset or upgraded repeatedly while store {self.spec.name!r} was read",
            headers={"Retry-After": "1"},
        )

    def _older_reader(self, as_of: int | str) -> Reader[Any]:
        """Return the reader of a version; called in a thread of `Restoring`."""
        place = self.newest.place
        name = as_of if isinstance(as_of, int) else place.commit(as_of).id
        with self._older_lock:
            found = self._older.get((place.epoch, name))
            if found is not None:
                self._older.move_to_end((place.epoch, name))
                return found
        reader = self._reader(as_of)
        with self._older_lock:
            self._older[place.epoch, name] = reader
            while len(self._older) > _OLDER:
                self._older.popitem(last=False)[1].close()
        return reader

    async def batch_at(self, at_ms: int) -> int:
        """Return the batch that was the newest at a time.

        Raises:
            Problem: The version at that time is not retained.
        """
        return await self._restoring.result((self, at_ms, "at"), lambda: self._batch_at(at_ms))

    def _batch_at(self, at_ms: int) -> int:
        place = self.newest.place
        batches = place.batches()
        after = bisect_right(batches, at_ms, key=lambda batch: place.commit(batch).wall_ms)
        if after == 0:
            raise Problem(
                410,
                f"no version from {iso(at_ms)} or earlier is retained",
                hint="App(retained_batches=...) retains more versions, a savepoint retains one.",
            )
        return batches[after - 1]

    def close(self) -> None:
        """Discard all working copies of the store."""
        for reader in (self.newest, *self._older.values()):
            reader.close()


class AppTelemetry(NamedTuple):
    """The telemetry of an app; None for parts that are not recorded or unreadable.

    Attributes:
        live: The current activity of the app, or the last before it stopped.
        counters: The counters, summed since the start of the app.
        topology: The topology at the last start of the app.
    """

    live: Live | None = None
    counters: Counters | None = None
    topology: Outline | None = None


class ServedApp:
    """One app whose stores are served; a background thread reads new versions of the stores.

    Args:
        source: The app.
        poll: The interval of checks for newer versions; None is 20 ms for a directory, and a second
            if each check is a request with a price.
        limits: The limits of the server.

    Raises:
        NoCheckpointError: There is no checkpoint.
    """

    def __init__(self, source: AppSource, poll: timedelta | None, limits: Limits) -> None:
        self._source = source
        near = source.home.directory is not None and source.log is None
        own = _NEAR_SECONDS if near else _FAR_SECONDS
        self._poll_seconds = own if poll is None else poll.total_seconds()
        self.restoring = Restoring(_RESTORES, _LINE, limits.restore_seconds)
        self._stamp = source.home.stamp()
        self._checkpoint = Checkpoint.load(source.home)
        self.name = self._checkpoint.app
        self._stores: dict[str, ServedStore] = {}
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._statuses: tuple[float, list[QueryStatus]] = (-_FRESH_SECONDS, [])
        in_directory = source.home.directory is not None
        self._telemetry_seconds = _FRESH_SECONDS if in_directory else _FRESH_SECONDS_OF_OBJECTS
        self._telemetry: tuple[float, AppTelemetry] = (-self._telemetry_seconds, AppTelemetry())
        self._stop = threading.Event()
        self._changed = asyncio.Event()
        self._thread: threading.Thread | None = None

    @property
    def home(self) -> CheckpointHome:
        """The storage of the app's checkpoint: a directory, or a prefix in object storage."""
        return self._source.home

    @property
    def partitioner(self) -> Partitioner | None:
        """The partitioner of the app's keys; None is Kafka's default."""
        return self._source.partitioner

    def place(self, store: ServedStore) -> StorePlace:
        """Return the location of a store in the checkpoint and the durable log.

        Raises:
            NoCheckpointError: The app is being reset.
            CheckpointMismatchError: The app no longer has this store.
        """
        return StorePlace.find(self._source.home, self._source.log, store.spec)

    def objects(self) -> ObjectStore:
        """Open the durable log of the app."""
        return (self._source.log or self.checkpoint.log).open()

    @property
    def checkpoint(self) -> Checkpoint:
        """The app's checkpoint, read again after a reset or an upgrade."""
        stamp = self._source.home.stamp()
        if stamp != self._stamp:
            self._checkpoint = Checkpoint.load(self._source.home)
            self._stamp = stamp
        return self._checkpoint

    def schemas(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """Return the group and the schema (kind and serdes) of each store, by name."""
        return self.checkpoint.stores()

    async def store(self, name: str) -> ServedStore:
        """Return the store with this name.

        Raises:
            Problem: The app has no store of this name, or the name is invalid.
        """
        found = self._stores.get(name)
        if found is not None:
            return found
        return await self.restoring.result(("store", name), lambda: self._opened(name))

    def _opened(self, name: str) -> ServedStore:
        self._check_name(name)
        spec = self._source.find_spec(self.checkpoint, name)
        made = ServedStore(self._source, spec, self.restoring)
        with self._lock:
            self._stores[name] = made
        return made

    def _check_name(self, name: str) -> None:
        if name not in self.schemas():
            check_name("the store", name)
            raise Problem(404, f"app {self.name!r} has no store {repr_of(name, 80)}")

    def savepoints(self) -> list[str]:
        """Return the names of the savepoints."""
        checkpoint = self.checkpoint
        objects = (self._source.log or checkpoint.log).open()
        return [each.name for each in Savepoints(checkpoint, objects).all()]

    def statuses(self) -> list[QueryStatus]:
        """Return the last commits of the queries, read at most a second ago; thread-safe.

        Raises:
            KStreamsError: The checkpoint or the log cannot be read.
        """
        with self._asking:
            since, found = self._statuses
            if time.monotonic() - since >= _FRESH_SECONDS:
                checkpoint = self.checkpoint
                found = query_statuses(checkpoint, (self._source.log or checkpoint.log).open())
                self._statuses = time.monotonic(), found
            return found

    def telemetry(self) -> AppTelemetry:
        """Return the telemetry of the app, read at most 1 s ago (10 s with object storage).

        Unreadable parts are omitted and logged.
        """
        with self._asking:
            since, found = self._telemetry
            if time.monotonic() - since >= self._telemetry_seconds:
                reader = TelemetryReader(self._source.home)
                try:
                    found = AppTelemetry(reader.live(), reader.counters(), reader.topology())
                except (KStreamsError, OSError) as exc:
                    _LOG.warning("the telemetry of app %s cannot be read: %s", self.name, exc)
                    found = AppTelemetry()
                self._telemetry = time.monotonic(), found
            return found

    def is_paused(self) -> bool:
        """Return whether the app is paused."""
        return self._source.home.pause_note() is not None

    def follow(self) -> None:
        """Start a thread that polls the stores for newer versions and notifies waiting requests.

        Call it in the event loop, in which the requests wait.
        """
        loop = asyncio.get_running_loop()
        self._thread = threading.Thread(
            target=self._run, args=(loop,), name=f"kstreams-serve-{self.name}", daemon=True
        )
        self._thread.start()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        while not self._stop.wait(self._poll_seconds):
            moved = False
            with self._lock:
                stores = list(self._stores.values())
            for store in stores:
                before = store.newest.version
                try:
                    moved |= store.newest.advance() != before
                except Exception:  # noqa: BLE001  # the next look may go well
                    _LOG.exception("store %s of app %s is not followed", store.spec.name, self.name)
            if moved and not self._stop.is_set():
                loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def change(self) -> asyncio.Event:
        """Return the event that is set when a store has a newer version."""
        return self._changed

    async def moved(self, seconds: float) -> bool:
        """Wait until a store has a newer version; return False if none has after this time."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except asyncio.TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Stop polling for newer versions, and discard all working copies of stores."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self.restoring.close()
        for store in self._stores.values():
            store.close()
