"""The log of a table's changes and its options."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from kstreams import Serde
from kstreams.errors import CompileError
from kstreams.sources import LogReader
from kstreams_postgres.change import Change, change_serde
from kstreams_postgres.change_rows import required_fields, wanted_fields
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.slot import SlotNames, slot_state
from kstreams_postgres.slot_contents import SlotContents
from kstreams_postgres.slot_making import Making, drop_slot, release_slot
from kstreams_postgres.slot_reader import SlotReader

__all__ = ("PostgresChanges", "SlotStatus", "changes")

K = TypeVar("K")
"""Type of the primary key."""
V = TypeVar("V")
"""Type of the rows."""

T = TypeVar("T")
"""The type of a request's result."""

_LOCK_TIMEOUT = timedelta(seconds=30)
_SLOT = re.compile(r"[a-z0-9_]{1,48}")


@dataclass(frozen=True)
class SlotStatus:
    """The status of a replication slot.

    Attributes:
        reader: The app and query that read the slot; empty if there is none.
        offset: The first offset the slot retains.
        lag_bytes: The bytes of the server's log written after the slot's confirmed position.
        kept_bytes: The bytes of the server's log retained on disk for the slot.
        wal_status: The server's `wal_status`: `reserved`, `extended`, `unreserved` or `lost`; empty
            if the slot does not exist.
        room_bytes: The bytes that can be written before the slot is `lost`; None without a limit
            (`max_slot_wal_keep_size` is -1).
    """

    reader: str
    offset: int
    lag_bytes: int
    kept_bytes: int
    wal_status: str
    room_bytes: int | None = None


@dataclass(frozen=True, repr=False)
class PostgresChanges(Generic[K, V]):
    """The result of `changes`: a `Log` with one partition whose values are `Change`s.

    Attributes:
        key: The serde of the keys.
        value: The serde of the changes, for topics and stores that keep them.
    """

    name: str
    url: str = field(repr=False)
    table: str
    key: Serde[K]
    row: type[V]
    _: KW_ONLY
    slot: str
    publication: str | None = None
    snapshot: bool = True
    state: str = "kstreams_slots"
    give_up_after: timedelta = timedelta(seconds=30)
    value: Serde[Change[V]] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not self.url or not self.table or not self.state:
            raise CompileError(f"log {self.name!r}: url, table and state= must not be empty")
        if not _SLOT.fullmatch(self.slot):
            raise CompileError(
                f"log {self.name!r}: slot={self.slot!r} is not a valid name of a replication slot",
                hint="use 1 to 48 lower-case letters, digits and '_'.",
            )
        object.__setattr__(self, "value", change_serde(self.row))

    def __repr__(self) -> str:
        """Return a text without the address."""
        return f"PostgresChanges({self.name!r}, table={self.table!r}, slot={self.slot!r})"

    @property
    def label(self) -> str:
        """The label of the source or sink in diagrams of the topology."""
        return f"changes of postgresql table {self.table}"

    @property
    def commit_effect(self) -> str:
        """A description of the data that the server deletes after a commit, for messages."""
        return "the slot releases changes"

    def contents(self) -> SlotContents:
        """Return the driver's reader of the log's offsets, which also plans its batches."""
        making = Making(self.url, required_fields(self.row), snapshot=self.snapshot)
        return SlotContents(self._database(), self._names, making)

    def reader(self) -> LogReader:
        """Return a reader of the log's records in a worker."""
        return SlotReader(self._database(), self._names, self.key, wanted_fields(self.row))

    def status(self) -> SlotStatus | None:
        """Return the status of the slot; None if it was not created yet.

        Raises:
            SourceUnavailableError: The database does not answer.
        """
        found = self._on_database(lambda connection: slot_state(connection, self._names))
        if found is None:
            return None
        lag = found.written - found.lsn
        return SlotStatus(found.reader, found.offset, lag, found.kept, found.wal, found.room)

    def release(self) -> None:
        """Release the slot so another app can resume at the current reader's position.

        The current reader must have stopped.

        Raises:
            SourceUnavailableError: The database does not answer.
        """
        self._on_database(lambda connection: release_slot(connection, self._names))

    def drop(self) -> None:
        """Drop the slot and its state, so the server retains nothing for it.

        The next start of an app creates a new slot and copies the table again; the app's checkpoint
        must be reset for that. No app may be running on the slot.

        Raises:
            SourceUnavailableError: The database does not answer, or the slot is in use.
        """
        self._on_database(lambda connection: drop_slot(connection, self._names))

    def _on_database(self, work: Callable[[Connection], T]) -> T:
        database = self._database()
        try:
            return database.retried(work)
        finally:
            database.close()

    def _database(self) -> Database:
        return Database(self.url, self.give_up_after, _LOCK_TIMEOUT, reads=True)

    @property
    def _names(self) -> SlotNames:
        return SlotNames(self.slot, self.table, self.state, self.publication)


def changes(
    name: str,
    url: str,
    table: str,
    key: Serde[K],
    row: type[V],
    *,
    slot: str | None = None,
    publication: str | None = None,
    snapshot: bool = True,
    state: str = "kstreams_slots",
    give_up_after: timedelta = timedelta(seconds=30),
) -> PostgresChanges[K, V]:
    """Return the log of a table's changes, read through logical replication.

    The log starts with the existing rows, followed by each change in commit order; a record's time
    is the time of its commit. A record's key is the row's primary key: a value, or a tuple if the
    primary key has several columns. A change of the key is a deletion of the old key and an
    insertion of the new one. `TRUNCATE` does not say which rows it deletes, so it becomes an
    unreadable record, handled by the source's `on_error`. So does an unchanged value that is stored
    out of line, unless the table has `REPLICA IDENTITY FULL`.

    The log has a replication slot, created at the first read, and one reader: the server deletes
    what the app has committed. Offsets count changes; an update takes two.

    Args:
        name: The name of the log, for its positions in checkpoints.
        url: A libpq connection string, such as `postgresql://user:password@host/database`. The role
            needs REPLICATION, must be able to read the table, own it (or name a publication) and
            create tables in the schema of `state`. Logs and errors do not show the URL. The server
            needs `wal_level = logical`.
        table: The name of the table, with an optional schema; it must have a primary key.
        key: The serde of the keys, such as `INT64` or `TEXT`.
        row: The type of the rows: a dataclass, `msgspec.Struct` or TypedDict whose fields are named
            like columns. Columns without a field are skipped.
        slot: The name of the replication slot; by default the log's name.
        publication: A publication of the table, possibly with a column list or a condition; by
            default one is created for the table, named like the slot.
        snapshot: Whether the log starts with the existing rows: the table is copied in the
            database, until the app has read the copy.
        state: The table with the state of slots, one row per slot; created if it does not exist.
        give_up_after: The maximum time to retry while the database does not answer.

    Raises:
        CompileError: A name is invalid, or url, table or state is empty.
        TypeError: Columns cannot be decoded to the type `row`.

    Source: Debezium's PostgreSQL connector, which is at least once; `CREATE SUBSCRIPTION`.
    """
    return PostgresChanges(
        name,
        url,
        table,
        key,
        row,
        slot=name if slot is None else slot,
        publication=publication,
        snapshot=snapshot,
        state=state,
        give_up_after=give_up_after,
    )
