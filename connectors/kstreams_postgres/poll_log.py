"""The log of an append-only table and its options."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import Generic, TypeVar

from psycopg import sql

from kstreams import Serde
from kstreams.errors import CompileError
from kstreams.sources import LogReader
from kstreams_postgres.catalog import beside_parameters, is_table
from kstreams_postgres.change import row_serde
from kstreams_postgres.change_rows import required_fields, wanted_fields
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.poll import PollNames
from kstreams_postgres.poll_contents import PollContents
from kstreams_postgres.poll_reader import PollReader
from kstreams_postgres.slot import table_name

__all__ = ("PostgresRows", "rows")

K = TypeVar("K")
"""Type of the primary key."""
V = TypeVar("V")
"""Type of the rows."""

_LOCK_TIMEOUT = timedelta(seconds=30)


@dataclass(frozen=True, repr=False)
class PostgresRows(Generic[K, V]):
    """The result of `rows`: a `Log` with one partition whose values are rows.

    Attributes:
        key: The serde of the keys.
        value: The serde of the rows.
    """

    name: str
    url: str = field(repr=False)
    table: str
    key: Serde[K]
    row: type[V]
    _: KW_ONLY
    time: str
    transaction: str = "xmin"
    look_every: timedelta = timedelta(seconds=1)
    state: str = "kstreams_polls"
    give_up_after: timedelta = timedelta(seconds=30)
    value: Serde[V] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not all((self.url, self.table, self.time, self.transaction, self.state)):
            raise CompileError(
                f"log {self.name!r}: url, table, time=, transaction= and state= must not be empty"
            )
        if self.look_every < timedelta(0):
            raise ValueError(f"look_every={self.look_every}: must not be negative")
        object.__setattr__(self, "value", row_serde(self.row))

    def __repr__(self) -> str:
        """Return a text without the address."""
        return f"PostgresRows({self.name!r}, table={self.table!r})"

    @property
    def label(self) -> str:
        """The label of the source or sink in diagrams of the topology."""
        return f"rows of postgresql table {self.table}"

    def contents(self) -> PollContents:
        """Return the driver's reader of the log's offsets, which also plans its batches."""
        every = self.look_every.total_seconds()
        return PollContents(self._database(), self._names, required_fields(self.row), every)

    def reader(self) -> LogReader:
        """Return a reader of the log's records in a worker."""
        return PollReader(self._database(), self._names, self.key, wanted_fields(self.row))

    def forget(self) -> None:
        """Delete the log's state, so that the next app starts at the beginning.

        Call this before another app reads the log, or this app after a reset.

        Raises:
            SourceUnavailableError: The database does not answer.
        """
        database = self._database()
        try:
            database.retried(self._forget)
        finally:
            database.close()

    def _forget(self, connection: Connection) -> None:
        state = table_name(self.state)
        if is_table(connection, state):
            statement = sql.SQL("DELETE FROM {} WHERE name = %s").format(beside_parameters(state))
            connection.execute(statement, (self.name,))

    def _database(self) -> Database:
        return Database(self.url, self.give_up_after, _LOCK_TIMEOUT, reads=True)

    @property
    def _names(self) -> PollNames:
        return PollNames(self.name, self.table, self.transaction, self.time, self.state)


def rows(
    name: str,
    url: str,
    table: str,
    key: Serde[K],
    row: type[V],
    *,
    time: str,
    transaction: str = "xmin",
    look_every: timedelta = timedelta(seconds=1),
    state: str = "kstreams_polls",
    give_up_after: timedelta = timedelta(seconds=30),
) -> PostgresRows[K, V]:
    """Return the log of an append-only table's rows.

    Rows are ordered by the number of their transaction, then by primary key. A row is read when no
    transaction with its number or a lower one is running, so a row with a lower id that commits
    later is read later and not missed. A long transaction delays all rows of later transactions.

    Changing or deleting rows between plan and commit raises `DataLossError`; committed rows may be
    deleted. For tables whose rows change, use `changes`.

    Args:
        name: The name of the log, for its positions in checkpoints and in the state table.
        url: A libpq connection string; logs and errors do not show it. The role must be able to
            read the table, and to create tables in the schema of `state`.
        table: The name of the table, with an optional schema; it must have a primary key.
        key: The serde of the keys, such as `INT64`; of a tuple if the key has several columns.
        row: The type of the rows, as for `changes`.
        time: The column with a row's time, a `timestamptz`.
        transaction: The column with the number of a row's transaction: a column of type `xid8` with
            the default `pg_current_xact_id()` and an index. The system column `xmin` needs a scan
            of the table at each poll, and works until the server's transaction numbers wrap around
            after four billion transactions.
        look_every: The interval between polls for rows.
        state: The table with the state of logs, one row per log; created if it does not exist.
        give_up_after: The maximum time to retry while the database does not answer.

    Raises:
        CompileError: A name is empty.
        TypeError: Columns cannot be decoded to the type `row`.
        ValueError: `look_every` is negative.

    Source: Kafka Connect's JDBC source in the mode `timestamp+incrementing`, which misses rows that
    commit late.
    """
    return PostgresRows(
        name,
        url,
        table,
        key,
        row,
        time=time,
        transaction=transaction,
        look_every=look_every,
        state=state,
        give_up_after=give_up_after,
    )
