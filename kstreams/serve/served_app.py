"""One app's stores, kept at hand at committed versions that advance beside the reads."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kstreams.checkpoint.checkpoint import Checkpoint
from kstreams.checkpoint.home import CheckpointHome
from kstreams.checkpoint.savepoints import Savepoints
from kstreams.checkpoint.status import QueryStatus, query_statuses
from kstreams.clock import SystemClock
from kstreams.partitioner import Partitioner
from kstreams.serve.problems import Problem
from kstreams.serve.settings import Limits
from kstreams.state.backend.objects import ObjectStoreSettings
from kstreams.state.stores.spec import StoreSpec
from kstreams.views.reader import Reader, ReaderSettings
from kstreams.views.state_source import CheckpointSource

__all__ = ("AppSource", "FindSpec", "ServedApp", "ServedStore")

_LOG = logging.getLogger(__name__)
_KEPT = 8
_SAID_SECONDS = 1.0
_OLDER = 4

FindSpec = Callable[[Checkpoint, str], StoreSpec[Any]]
"""Returns the definition of a store that a checkpoint has."""


@dataclass(frozen=True)
class AppSource:
    """Where an app is, and how its stores are read.

    Args:
        home: Its checkpoint.
        find_spec: See there.
        log: Where its durable log is, if not where the checkpoint says.
        partitioner: The rule by which its keys are routed, if it is not Kafka's.
    """

    home: CheckpointHome
    find_spec: FindSpec
    log: ObjectStoreSettings | None = None
    partitioner: Partitioner | None = None


class ServedStore:
    """One store: the newest versions, and a few older ones that were asked for.

    Args:
        source: Where its app is.
        spec: Its definition.
        limits: Of the server.
    """

    def __init__(self, source: AppSource, spec: StoreSpec[Any], limits: Limits) -> None:
        self.spec = spec
        self._source = source
        self._limits = limits
        self.newest: Reader[Any] = self._reader(None)
        self._older: OrderedDict[int | str, Reader[Any]] = OrderedDict()
        self._opening = asyncio.Lock()

    def _reader(self, as_of: int | str | None) -> Reader[Any]:
        source = self._source
        settings = ReaderSettings(
            CheckpointSource(source.home, source.log),
            as_of,
            max_age_ms=0,
            backend=None,
            partitioner=source.partitioner,
            clock=SystemClock(),
            beside=True,
            kept=_KEPT if as_of is None else 0,
        )
        return Reader(self.spec, settings)

    async def reader_at(
        self, as_of: int | str | None, partitions: Sequence[int] | None = None
    ) -> tuple[Reader[Any], int | None]:
        """Return what reads a version without waiting, and which batch that is.

        Args:
            as_of: A batch or the name of a savepoint; None is the newest version.
            partitions: Those that will be read; None is all.

        Raises:
            Problem: They are being restored: come again.
            StoreError: The version is not retained.
            SavepointError: There is no such savepoint.
        """
        wanted = range(self.newest.partitions) if partitions is None else partitions
        if as_of is None or as_of == self.newest.version:
            if not self.newest.ready(wanted):
                await self._restored(self.newest, wanted)
            return self.newest, self.newest.version
        kept = isinstance(as_of, int) and self.newest.has(as_of)
        if isinstance(as_of, int) and kept and self.newest.ready(wanted, at=as_of):
            return self.newest, as_of
        reader = await self._older_reader(as_of)
        if not reader.ready(wanted):
            await self._restored(reader, wanted)
        return reader, reader.version

    async def _older_reader(self, as_of: int | str) -> Reader[Any]:
        async with self._opening:
            reader = self._older.get(as_of)
            if reader is None:
                reader = self._older[as_of] = await asyncio.to_thread(self._reader, as_of)
            self._older.move_to_end(as_of)
            while len(self._older) > _OLDER:
                self._older.popitem(last=False)[1].close()
            return reader

    async def _restored(self, reader: Reader[Any], partitions: Sequence[int]) -> None:
        work = asyncio.ensure_future(asyncio.to_thread(reader.restore, partitions))
        done, _ = await asyncio.wait({work}, timeout=self._limits.restore_seconds)
        if not done:
            work.add_done_callback(_forget)
            raise Problem(
                503, "the partitions are being restored from the log", headers={"Retry-After": "1"}
            )
        work.result()

    def close(self) -> None:
        """Forget all working copies."""
        for reader in (self.newest, *self._older.values()):
            reader.close()


def _forget(work: asyncio.Future[None]) -> None:
    """Take an error that nobody waits for any more; the next request meets it again."""
    if not work.cancelled():
        work.exception()


class ServedApp:
    """One app, followed by a thread of its own.

    Args:
        source: Where it is.
        poll: How often newer versions are looked for.
        limits: Of the server.

    Raises:
        NoCheckpointError: There is no checkpoint.
    """

    def __init__(self, source: AppSource, poll: timedelta, limits: Limits) -> None:
        self._source = source
        self._poll_seconds = poll.total_seconds()
        self._limits = limits
        self._stamp = source.home.stamp()
        self._checkpoint = Checkpoint.load(source.home)
        self.name = self._checkpoint.app
        self._stores: dict[str, ServedStore] = {}
        self._lock = threading.Lock()
        self._asking = threading.Lock()
        self._said: tuple[float, list[QueryStatus]] = (-_SAID_SECONDS, [])
        self._stop = threading.Event()
        self._changed = asyncio.Event()
        self._thread: threading.Thread | None = None

    @property
    def checkpoint(self) -> Checkpoint:
        """What the app is at present."""
        stamp = self._source.home.stamp()
        if stamp != self._stamp:
            self._checkpoint = Checkpoint.load(self._source.home)
            self._stamp = stamp
        return self._checkpoint

    def schemas(self) -> Mapping[str, tuple[str, Mapping[str, Any]]]:
        """Return group, kind and serdes of each store."""
        return self.checkpoint.stores()

    def store(self, name: str) -> ServedStore:
        """Return one of the app's stores.

        Raises:
            Problem: It has none of this name.
        """
        found = self._stores.get(name)
        if found is not None:
            return found
        if name not in self.schemas():
            raise Problem(404, "the app has no store of this name")
        spec = self._source.find_spec(self.checkpoint, name)
        made = ServedStore(self._source, spec, self._limits)
        with self._lock:
            self._stores[name] = made
        return made

    def batches(self, store: str) -> list[int]:
        """Return the batches whose versions are retained, rising."""
        return self.store(store).newest.place.batches()

    def savepoints(self) -> list[str]:
        """Return the names of the savepoints."""
        checkpoint = self.checkpoint
        objects = (self._source.log or checkpoint.log).open()
        return [each.name for each in Savepoints(checkpoint, objects).all()]

    def statuses(self) -> list[QueryStatus]:
        """Return what the last commits say, at most a second ago; any thread may ask.

        Raises:
            KStreamsError: The checkpoint or the log cannot be read.
        """
        with self._asking:
            since, found = self._said
            if time.monotonic() - since >= _SAID_SECONDS:
                checkpoint = self.checkpoint
                found = query_statuses(checkpoint, (self._source.log or checkpoint.log).open())
                self._said = time.monotonic(), found
            return found

    def is_paused(self) -> bool:
        """Return whether the app is paused."""
        return self._source.home.pause_note() is not None

    def follow(self) -> None:
        """Begin to follow the app; called in the event loop."""
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

    async def moved(self, seconds: float) -> bool:
        """Wait until a store has a newer version; return whether one has in that time."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except asyncio.TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Stop following, and forget all working copies."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for store in self._stores.values():
            store.close()
