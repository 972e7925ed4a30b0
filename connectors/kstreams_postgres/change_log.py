"""The changes of a table as a log: what a user says of them."""

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
"""What is asked for."""

_LOCK_TIMEOUT = timedelta(seconds=30)
_SLOT = re.compile(r"[a-z0-9_]{1,48}")


@dataclass(frozen=True)
class SlotStatus:
    """How a slot stands.

    Attributes:
        reader: The query of the app that reads it; empty while none does.
        offset: The first offset that was not let go of.
        lag_bytes: How much was written to the server's log behind what was let go of.
        kept_bytes: How much of its log the server keeps for the slot, on its disk.
        wal_status: What the server says: `reserved`, `extended`, `unreserved` or `lost`; empty
            where the slot is gone.
        room_bytes: How much more may be written before the slot is `lost`; None where the server
            keeps all (`max_slot_wal_keep_size` is -1).
    """

    reader: str
    offset: int
    lag_bytes: int
    kept_bytes: int
    wal_status: str
    room_bytes: int | None = None


@dataclass(frozen=True, repr=False)
class PostgresChanges(Generic[K, V]):
    """What `changes` returns: a `Log` whose values are `Change`s, in one partition.

    Attributes:
        key: Serde of the keys.
        value: Serde of the changes, for topics and stores that keep them.
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
            raise CompileError(f"log {self.name!r} needs a url, a table and a table of its state")
        if not _SLOT.fullmatch(self.slot):
            raise CompileError(
                f"{self.slot!r} cannot name a replication slot of log {self.name!r}",
                hint="slot= takes lower-case letters, digits and '_', at most 48.",
            )
        object.__setattr__(self, "value", change_serde(self.row))

    def __repr__(self) -> str:
        """Show all but the address."""
        return f"PostgresChanges({self.name!r}, table={self.table!r}, slot={self.slot!r})"

    @property
    def label(self) -> str:
        """The label of this node in pictures of the topology."""
        return f"changes of postgresql table {self.table}"

    @property
    def lets_go(self) -> str:
        """The server forgets what was committed."""
        return "the slot lets go of changes"

    def contents(self) -> SlotContents:
        """Open the driver's side."""
        making = Making(self.url, required_fields(self.row), snapshot=self.snapshot)
        return SlotContents(self._database(), self._names, making)

    def reader(self) -> LogReader:
        """Open the worker's side."""
        return SlotReader(self._database(), self._names, self.key, wanted_fields(self.row))

    def status(self) -> SlotStatus | None:
        """Return how the slot stands; None where it was not made yet.

        Raises:
            SourceUnavailableError: The database does not answer.
        """
        found = self._asked(lambda connection: slot_state(connection, self._names))
        if found is None:
            return None
        lag = found.written - found.lsn
        return SlotStatus(found.reader, found.offset, lag, found.kept, found.wal, found.room)

    def release(self) -> None:
        """Let another app go on where the reader of the slot stands, which must have ended.

        Raises:
            SourceUnavailableError: The database does not answer.
        """
        self._asked(lambda connection: release_slot(connection, self._names))

    def drop(self) -> None:
        """Take away the slot and all that is known of it, so that the server keeps nothing for it.

        The next start of an app makes another, and copies the table anew; its checkpoint must be
        reset for that. No app may run on it.

        Raises:
            SourceUnavailableError: The database does not answer, or the slot is in use.
        """
        self._asked(lambda connection: drop_slot(connection, self._names))

    def _asked(self, work: Callable[[Connection], T]) -> T:
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
    """Return the log that the changes of a table are, by logical replication.

    First come the rows that are there when the log begins, then each change, in the order in which
    transactions commit; the time of a record is that of its commit. A record's key is the row's
    primary key: its value, or a tuple where that has several columns. A change of the key is a
    deletion of the old one and an insertion. `TRUNCATE` does not say which rows it takes: it is a
    record that cannot be read, and goes by the source's `on_error`; so does a value that was not
    changed and is stored out of line, unless the table has `REPLICA IDENTITY FULL`.

    The log has a replication slot, made when it is first read, and one reader: what an app has
    committed, the server forgets. Offsets count changes; an update takes two.

    Args:
        name: Of the log, for its positions in checkpoints.
        url: A connection string of libpq, such as `postgresql://user:password@host/database`, of
            a role with REPLICATION that may read the table, own it (or name a publication) and
            create tables in the schema of `state`. It shows in no text. `wal_level` has to be
            `logical`.
        table: Name of the table, with its schema if need be; it has a primary key.
        key: Serde of the keys, such as `INT64` or `TEXT`.
        row: Type of the rows: a dataclass, `msgspec.Struct` or TypedDict, whose fields are named as
            columns. Columns that it has not are left out.
        slot: Name of the replication slot; the log's by default.
        publication: One that has the table, with a list of columns or a condition perhaps; by
            default one is made for the table alone, named as the slot.
        snapshot: Whether the rows come first that were there before: the table is copied in the
            database, until the app has read the copy.
        state: Table of what is known of slots, a row each; made if it is not there.
        give_up_after: How long to try again while the database does not answer.

    Raises:
        CompileError: A name cannot be, or url, table or state is empty.
        TypeError: `row` is no type that columns can be decoded to.

    Source: Debezium's connector of PostgreSQL, which is at least once; `CREATE SUBSCRIPTION`.
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
