"""The open global tables of a process, at the versions that its batches read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kstreams.errors import ObjectMissingError, StateCorruptError, VersionGoneError, Where
from kstreams.global_tables.copied_rows import advance, marks_of
from kstreams.global_tables.host_copies import HostCopies
from kstreams.global_tables.table import OpenTable
from kstreams.global_tables.table_version import TableVersion
from kstreams.state.backend.memory import MemoryStore
from kstreams.state.backend.objects import ObjectStore, ObjectStoreSettings
from kstreams.state.backend.task_key import TaskKey
from kstreams.state.backend.working import SharesVersions, StateBackend
from kstreams.state.log.durable import DurableLog
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.table_access import TableAccess

__all__ = ("REPIN_HINT", "OpenTables")

REPIN_HINT = (
    "the batch was planned and not committed. `kstreams run --repin`, or App(repin=True), lets the "
    "batch read the newest version instead: its results may then differ from those that it has "
    "already written to Kafka. "
    "App(retained_batches=...) of the app that writes the table keeps versions longer."
)
"""The hint for an error because the version that a batch reads is not retained."""

_KEPT = 2


class OpenTables:
    """Opens versions of tables, and keeps the last two versions of each table open.

    Args:
        log: Opens a durable log.
    """

    def __init__(self, log: Callable[[ObjectStoreSettings], ObjectStore]) -> None:
        self._log = log
        self._shared: dict[tuple[str, str], dict[str, OpenTable]] = {}
        self._own: dict[tuple[str, str, str], _OwnCopy] = {}

    def open(
        self,
        spec: StoreSpec[Any],
        version: TableVersion,
        *,
        backend: StateBackend,
        home: Callable[[], Path],
        reader: str,
    ) -> TableAccess:
        """Return the access to a version of a table, valid until the next version is opened.

        If the backend lets processes share a copy, the machine has one copy of the version;
        otherwise each reader has a copy in this process's memory.

        Args:
            spec: The table's store.
            version: The table version to open.
            backend: The backend of the app.
            home: Returns the directory of this machine's copies.
            reader: Name of the reader of the table; a reader usually opens ascending versions.

        Raises:
            VersionGoneError: An object of the version was deleted.
            StateCorruptError: An object of the version is damaged.
            StoreOpenError: The local disk is full or cannot be written.
        """
        try:
            if isinstance(backend, SharesVersions):
                return self._open_shared(spec, version, backend, home)
            return self._open_own(spec, version, reader)
        except StateCorruptError as error:
            if not isinstance(error.__cause__, ObjectMissingError):
                raise
            raise VersionGoneError(
                f"a version of a global table is not retained any more: {error.message}",
                hint=REPIN_HINT,
                where=Where(store=spec.name),
            ) from error

    def _open_shared(
        self,
        spec: StoreSpec[Any],
        version: TableVersion,
        backend: SharesVersions,
        home: Callable[[], Path],
    ) -> TableAccess:
        place = version.place
        opened = self._shared.setdefault((place.log_name, place.store), {})
        table = opened.pop(version.name, None)
        if table is None:
            while len(opened) >= _KEPT:
                opened.pop(next(iter(opened))).close()
            copies = HostCopies(home(), place, backend)
            table = OpenTable(spec, version, copies.open(version, self._log_of(version)))
        opened[version.name] = table
        table.trim()
        return table.access

    def _open_own(self, spec: StoreSpec[Any], version: TableVersion, reader: str) -> TableAccess:
        key = (reader, version.place.log_name, version.place.store)
        copy = self._own.pop(key, None) or _OwnCopy(spec)
        copy.move(spec, version, self._log_of(version))
        self._own[key] = copy  # not where moving failed half-way
        return copy.access

    def _log_of(self, version: TableVersion) -> Callable[[TaskKey], DurableLog]:
        objects = self._log(version.place.log)
        return lambda task: DurableLog(objects, task)


class _OwnCopy:
    """A copy of a table in this process's memory; `move` updates it to another version."""

    def __init__(self, spec: StoreSpec[Any]) -> None:
        self._rows = MemoryStore([spec.name])
        self._at: TableVersion | None = None
        self._table: OpenTable | None = None

    @property
    def access(self) -> TableAccess:
        """The access to the current version; valid after `move`."""
        assert self._table is not None  # noqa: S101  # `move` came before
        return self._table.access

    def move(
        self, spec: StoreSpec[Any], version: TableVersion, log_of: Callable[[TaskKey], DurableLog]
    ) -> None:
        """Update the copy to a version."""
        if self._at is not None and self._at.name == version.name and self._table is not None:
            self._table.trim()
            return
        marks = [] if self._at is None else marks_of(self._at)
        advance(self._rows, version, marks, log_of)
        self._at = version
        self._table = OpenTable(spec, version, self._rows)
