"""Read a remote store over HTTP; all requests of a read use the same version."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from typing_extensions import override

from kstreams.checkpoint.parameter_notes import misread_by
from kstreams.checkpoint.savepoint.store_place import partitioner_of
from kstreams.errors import CheckpointMismatchError, ServerUnavailableError, StoreError
from kstreams.partitioner import Partitioner
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.times import BEFORE_ALL
from kstreams.state.log.commits import SEED
from kstreams.state.log.fields import MOST, Fields
from kstreams.state.stores.spec import S, StoreSpec
from kstreams.views.pinned import Pinned
from kstreams.views.scan import ViewScan
from kstreams.views.version_reader import VersionReader
from kstreams_client.remote_rows import RemoteRows
from kstreams_client.server_client import BegunAgainError, ServerClient
from kstreams_client.wire import Found, decode_found

__all__ = ("RemoteReader",)

T = TypeVar("T")
"""Type of the result of a read."""

_ATTEMPTS = 20


@dataclass(frozen=True)
class _Place:
    """The server's description of a store, valid until the app is reset or upgraded."""

    epoch: str
    partitions: int
    routing: str | None
    version: int | None
    wall_ms: int | None
    versions: tuple[int, ...]


class RemoteReader(VersionReader[S]):
    """A `VersionReader` for a store of a server: each call reads one committed version.

    Args:
        client: The client of the server.
        app: Name of the app.
        spec: The store.
        as_of: The batch or savepoint to read; None for the newest version.
        partitioner: The partitioner of the app's keys, if it is not Kafka's default.

    Raises:
        CheckpointMismatchError: The app has no such store, or another definition of it.
    """

    def __init__(
        self,
        client: ServerClient,
        app: str,
        spec: StoreSpec[S],
        as_of: int | str | None,
        partitioner: Partitioner | None,
    ) -> None:
        self._client = client
        self._route = "apps", app, "stores", spec.name
        self._spec = spec
        self._as_of = as_of
        self._partitioner = partitioner
        self._lock = threading.RLock()
        self._scans = 0
        self._closed = False
        self._place = self._look()
        self.version = self._place.version
        self.wall_ms = self._place.wall_ms
        if as_of is not None and self._place.partitions:
            self.read((0,), len, looked=True)

    @property
    @override
    def partitions(self) -> int:
        return self._place.partitions

    @override
    def partitions_of(self, key: object) -> Sequence[int]:
        rule = partitioner_of(self._place.routing, self._partitioner)
        if rule is None:
            return range(self.partitions)
        return (rule.partition(self._spec.key.serialize(key), self.partitions),)

    def versions(self) -> list[int]:
        """Return the batches whose versions are retained, ascending."""
        return list(self._look().versions)

    def refresh(self) -> int | None:
        """Move to the newest version; return its number. An open iteration prevents the move."""
        found = self._look()
        with self._lock:
            if not self._scans and self._as_of is None:
                self._place = found
                self.version, self.wall_ms = found.version, found.wall_ms
            return self.version

    def _look(self) -> _Place:
        """Request the description of the store, and check it against the view's definition."""
        self._check_open()
        said = self._client.get(*self._route)
        schema = said.mapping("schema")
        if schema != self._spec.schema():
            raise CheckpointMismatchError(
                f"store {self._spec.name!r} has the schema {schema} on the server, but "
                f"{self._spec.schema()} in the definition of this view",
                hint="open the view with the store definition of the app.",
            )
        recorded = {
            name: value
            for name, value in Fields(said.anything("parameters") or {}).all().items()
            if isinstance(value, (str, int))
        }
        if misread := misread_by(recorded, self._spec.parameters()):
            raise CheckpointMismatchError(
                f"store {self._spec.name!r} would be misread, because its parameters on the server "
                f"and in the definition of this view differ: {misread}",
                hint="open the view with the store definition of the app.",
            )
        known = said.anything("version") is not None
        return _Place(
            said.text("epoch"),
            said.integer("partitions", least=1),
            None if said.anything("routing") is None else said.text("routing"),
            said.integer("version", least=SEED) if known else None,
            said.integer("wall_ms", least=-MOST) if known else None,
            tuple(batch for batch in said.items("versions") if isinstance(batch, int)),
        )

    # ------------------------------------------------------------ reads

    def read(
        self,
        partitions: Sequence[int],
        look: Callable[[Sequence[S]], T],
        *,
        looked: bool = False,
    ) -> T:
        """Call a function with partitions at one version; call it again if the version was deleted.

        Args:
            partitions: The partitions.
            look: Called with the live stores, and must not keep references to them; may be called
                repeatedly.
            looked: Whether to request the version even if `look` reads nothing.

        Raises:
            StoreError: The version is not retained; or the app was reset meanwhile, with other
                partitions.
            ServerUnavailableError: The server does not answer.
        """
        for attempt in range(_ATTEMPTS):
            reading = self._reading()
            try:
                found = look(reading.stores(partitions))
                if looked:
                    reading.ask(partitions[0], {"limit": 1})
            except BegunAgainError:
                self._find_again()
            except StoreError as exc:
                gone = type(exc) is StoreError and reading.began and not reading.fixed
                if not gone or attempt == _ATTEMPTS - 1:
                    raise
            else:
                self._note(reading)
                return found
        raise StoreError(
            f"store {self._spec.name!r} was not read: the app was reset or upgraded during each of "
            f"{_ATTEMPTS} attempts"
        )

    def scan(
        self, partitions: Sequence[int], begin: Callable[[Sequence[S]], Iterator[T]]
    ) -> ViewScan[T]:
        """Start an iteration over partitions, which reads one version until it ends.

        Args:
            partitions: The partitions.
            begin: Called with the live stores of the partitions; returns the iterator.
        """
        with self._lock:
            self.read(partitions, len, looked=True)
            self._scans += 1
            rows = begin(self._reading().stores(partitions))
        return ViewScan(rows, self._lock, self._scan_ended)

    def _scan_ended(self) -> None:
        self._scans -= 1

    def _reading(self) -> _Reading[S]:
        with self._lock:
            self._check_open()
            wanted, empty = self._as_of, False
            if wanted is None and self._scans:
                wanted, empty = self.version, self.version is None
            epoch = self._place.epoch
            return _Reading(self._client, self._route, self._spec, epoch, wanted, empty)

    def _note(self, reading: _Reading[S]) -> None:
        with self._lock:
            if reading.began and not self._scans:
                self.version, self.wall_ms = reading.version, reading.wall_ms

    def recovered(self) -> bool:
        """Return whether reads see the newest version; an open iteration may keep an older one."""
        with self._lock:
            held, version = self._scans > 0, self.version
        return self._as_of is not None or not held or self._look().version == version

    def recover(self, until_ms: int | None) -> bool:
        """Move to the newest version; return the result of `recovered`. `until_ms` is ignored."""
        self.refresh()
        return self.recovered()

    def evict(self, partitions: Sequence[int], remove: Callable[[S], object]) -> None:
        """Raise `StoreError`, because the working copies are on the server.

        Raises:
            StoreError: Always.
        """
        raise self._no_copy("evict")

    def hold(self) -> Pinned[S]:
        """Raise `StoreError`, because the working copies are on the server.

        Raises:
            StoreError: Always.
        """
        raise self._no_copy("follow_rows")

    def _no_copy(self, method: str) -> StoreError:
        return StoreError(
            f"{method} needs a working copy, and a remote view of store "
            f"{self._spec.name!r} has none",
            hint="use a View, which reads the app's checkpoint; or use follow, and read the rows.",
        )

    def _find_again(self) -> None:
        """Request the description of the store again, because the app was reset or upgraded."""
        found = self._look()
        with self._lock:
            before, self._place = self._place, found
        if (before.partitions, before.routing) != (found.partitions, found.routing):
            raise StoreError(
                f"the app was reset or upgraded during the read, and store {self._spec.name!r} has "
                f"{found.partitions} partitions instead of {before.partitions}, or another routing",
                hint="repeat the read.",
            )

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError(f"the view of store {self._spec.name!r} is closed")

    def close(self) -> None:
        """Close the client; later reads raise `StoreError`. A second call does nothing."""
        self._closed = True
        self._client.close()


class _Reading(Generic[S]):
    """One read of a store; the first request determines the version of all later requests.

    Args:
        client: The client of the server.
        route: The route of the store.
        spec: The store.
        epoch: The epoch of the versions.
        wanted: The batch or savepoint to read; None for the newest version.
        empty: Whether to read the empty state before the first version.

    Attributes:
        fixed: Whether the version was chosen before the first request.
        began: Whether a request was made.
        version: The version that was read.
        wall_ms: The time of that version's commit, ms since the epoch.
    """

    def __init__(
        self,
        client: ServerClient,
        route: tuple[str, ...],
        spec: StoreSpec[S],
        epoch: str,
        wanted: int | str | None,
        empty: bool,
    ) -> None:
        self._client = client
        self._route = (*route, "stored")
        self._spec = spec
        self._epoch = epoch
        self._wanted = wanted
        self._empty = empty
        self.fixed = empty or wanted is not None
        self.began = False
        self.version: int | None = None
        self.wall_ms: int | None = None

    def stores(self, partitions: Sequence[int]) -> list[S]:
        """Return the live stores of partitions; each read of a live store sends requests."""
        return [self._store(partition) for partition in partitions]

    def _store(self, partition: int) -> S:
        if self._empty:
            return self._spec.open(Overlay(MemoryStore([self._spec.name]), times=BEFORE_ALL))
        rows = RemoteRows(lambda wanted: self.ask(partition, wanted))
        return self._spec.open(Overlay(rows, times=rows))

    def ask(self, partition: int, wanted: dict[str, object]) -> Found:
        """Request rows of a partition at the version of this read.

        Args:
            partition: The partition.
            wanted: The fields of the request that select rows: keys, or a key range.
        """
        body = {**wanted, "partition": partition, "version": self._wanted, "epoch": self._epoch}
        found = decode_found(self._client.post(self._route, body))
        if not self.began:
            self.began, self.version, self.wall_ms = True, found.version, found.wall_ms
            if not self.fixed:
                self._wanted = found.version
        elif found.version != self.version:
            if self.version is None:  # the first batch is committed meanwhile
                raise BegunAgainError("the first batch was committed between two requests")
            raise ServerUnavailableError(
                f"the server returned version {found.version} of store {self._spec.name!r}, "
                f"expected version {self.version}"
            )
        return found
