"""The versions of global tables that batches read, and the versions that must be retained."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from kstreams.checkpoint.planning.global_table_pins import Pins
from kstreams.checkpoint.planning.plan_log import PlanLog
from kstreams.errors import LimitError, Where
from kstreams.global_tables.sources import OwnTableSource, TableSource
from kstreams.global_tables.table_version import TableVersion
from kstreams.state.backend.working import SharesVersions, StateBackend
from kstreams.state.log.commits import Commit

__all__ = ("GlobalVersions", "QueryTables", "Versions")

Versions = Mapping[str, TableVersion]
"""The versions that a batch reads, by store name."""

_IN_MEMORY_BYTES = 64 * 1024 * 1024


class GlobalVersions:
    """The global tables of an app, on the driver. Thread-safe.

    Args:
        sources: The source of each table, by store name.
        writers: By query of this app, the stores of the global tables that the query writes.
        readers: The plan log of each query of this app that reads global tables, by query name.
        done: The last committed batch of each query that has committed, by query name.
        backend: The backend of the app, which stores the copies.
    """

    def __init__(
        self,
        sources: Mapping[str, TableSource],
        writers: Mapping[str, Collection[str]],
        readers: Mapping[str, PlanLog],
        done: Mapping[str, int],
        backend: StateBackend,
    ) -> None:
        self._sources = sources
        self._writers = writers
        self._readers = readers
        self._done = dict(done)
        self._backend = backend
        self._lock = threading.Lock()
        self._held: dict[str, Pins] = {}

    def of(self, query: str, reads: Collection[str]) -> QueryTables:
        """Return the global tables of one query.

        Args:
            query: Name of the query.
            reads: Stores of the global tables that its groups read.
        """
        return QueryTables(self, query, tuple(sorted(reads)))

    def is_written_by(self, query: str) -> bool:
        """Return whether a query writes global tables."""
        return query in self._writers

    def pin(self, query: str, reads: Collection[str]) -> Pins:
        """Return each table's newest version; retain it until the query commits or pins another."""
        with self._lock:  # nothing is swept between that it is chosen and that it is held
            pins = {store: self._sources[store].newest() for store in reads}
            self._held[query] = pins
        return pins

    def held(self, query: str) -> set[int]:
        """Return the batches of a query whose commits must be retained, by number.

        Uncommitted plans of other queries read the global tables at these commits. The plans are
        those of this driver, and stored ones: from before a crash, or of a newer driver that took
        over the checkpoint.

        Raises:
            StateCorruptError: A plan cannot be read.
        """
        stores = self._writers.get(query)
        if not stores:
            return set()
        with self._lock:
            pinned = [*self._held.values(), *self._planned()]
        return {
            pin.commit.batch
            for pins in pinned
            for store, pin in pins.items()
            if store in stores and pin.commit is not None
        }

    def _planned(self) -> Iterator[Pins]:
        """Yield the table versions of the last two plans of each query, if not yet committed."""
        for query, plans in self._readers.items():
            for number in plans.numbers()[-2:]:
                if number > self._done.get(query, -1):
                    yield plans.at(number).globals

    def committed(self, query: str, commit: Commit) -> None:
        """Record a commit of a query.

        The versions that the query's plan refers to need not be retained any more. If the query
        writes tables, the commit becomes their newest version.
        """
        with self._lock:
            self._held.pop(query, None)
            self._done[query] = commit.batch
            for store in self._writers.get(query, ()):
                source = self._sources[store]
                if isinstance(source, OwnTableSource):
                    source.committed(commit)

    def at(self, pins: Pins) -> dict[str, TableVersion]:
        """Return versions in the form that is sent to workers.

        Raises:
            VersionGoneError: A version is not retained.
            LimitError: A table is too large for the memory of workers.
        """
        with self._lock:
            found = {store: self._sources[store].at(pin) for store, pin in pins.items()}
        if not isinstance(self._backend, SharesVersions):
            for store, version in found.items():
                _check_size(store, version, self._backend)
        return found


@dataclass(frozen=True)
class QueryTables:
    """The global tables of one query.

    Attributes:
        versions: The global tables of the app; None in an app without global tables.
        query: Name of the query.
        reads: Stores of the global tables that the query reads.
    """

    versions: GlobalVersions | None = None
    query: str = ""
    reads: tuple[str, ...] = field(default=())

    @property
    def fills_tables(self) -> bool:
        """Whether the query writes global tables of its app."""
        return self.versions is not None and self.versions.is_written_by(self.query)

    def pin(self) -> Pins:
        """Return the newest version of each table, for a new batch; see `GlobalVersions.pin`."""
        if self.versions is None or not self.reads:
            return {}
        return self.versions.pin(self.query, self.reads)

    def missing(self, pins: Pins) -> list[str]:
        """Return the stores of the tables that the query reads without a version in `pins`."""
        return [store for store in self.reads if store not in pins]

    def held(self) -> set[int]:
        """Return the query's batches whose commits must be retained; see `GlobalVersions.held`."""
        return set() if self.versions is None else self.versions.held(self.query)

    def committed(self, commit: Commit) -> None:
        """Record a commit of the query; see `GlobalVersions.committed`."""
        if self.versions is not None:
            self.versions.committed(self.query, commit)

    def at(self, pins: Pins) -> dict[str, TableVersion]:
        """Return versions in the form that is sent to workers; see `GlobalVersions.at`."""
        read = {store: pin for store, pin in pins.items() if store in self.reads}
        return {} if self.versions is None or not read else self.versions.at(read)


def _check_size(store: str, version: TableVersion, backend: StateBackend) -> None:
    if version.size_bytes > _IN_MEMORY_BYTES:
        raise LimitError(
            f"global table {store!r} has {version.size_bytes / 2**20:.0f} MiB in the durable log, "
            f"but {backend.name} would keep a copy in the memory of every worker, which is limited "
            f"to {_IN_MEMORY_BYTES // 2**20} MiB",
            hint="keep state in RocksDB, App(state=RocksDB()): then each machine has one copy, "
            "on its disk.",
            where=Where(store=store),
        )
