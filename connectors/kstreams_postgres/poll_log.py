"""The rows of a table that is appended to as a log: what a user says of them."""

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
    """What `rows` returns: a `Log` whose values are rows, in one partition.

    Attributes:
        key: Serde of the keys.
        value: Serde of the rows.
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
            raise CompileError(f"log {self.name!r} needs a url, a table, and names of columns")
        if self.look_every < timedelta(0):
            raise ValueError(f"look_every is negative: {self.look_every}")
        object.__setattr__(self, "value", row_serde(self.row))

    def __repr__(self) -> str:
        """Show all but the address."""
        return f"PostgresRows({self.name!r}, table={self.table!r})"

    @property
    def label(self) -> str:
        """The label of this node in pictures of the topology."""
        return f"rows of postgresql table {self.table}"

    def contents(self) -> PollContents:
        """Open the driver's side."""
        every = self.look_every.total_seconds()
        return PollContents(self._database(), self._names, required_fields(self.row), every)

    def reader(self) -> LogReader:
        """Open the worker's side."""
        return PollReader(self._database(), self._names, self.key, wanted_fields(self.row))

    def forget(self) -> None:
        """Forget what was read, so that another app, or this one after a reset, begins anew.

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
    """Return the log that the rows of a table are to which rows are only added.

    Rows come in the order of the numbers of their transactions, then of their primary key. A
    row is read when no transaction with its number or a lower one runs: so one that was given a
    lower id and commits later comes later, and is not missed. A transaction that runs for long
    holds up all rows of later ones.

    Rows that are changed or deleted between plan and commit are a `DataLossError`; those that were
    committed may be deleted. `changes` reads tables whose rows change.

    Args:
        name: Of the log, for its positions in checkpoints, and in the table of its state.
        url: A connection string of libpq; shows in no text. The role may read the table, and create
            tables in the schema of `state`.
        table: Name of the table, with its schema if need be; it has a primary key.
        key: Serde of the keys, such as `INT64`; of a tuple where the key has several columns.
        row: Type of the rows, as for `changes`.
        time: The column with a row's time, a `timestamptz`.
        transaction: The column with the number of a row's transaction: one of type `xid8`, whose
            default is `pg_current_xact_id()`, with an index. `xmin`, which each row has, is found
            by looking through the table each time, and serves until the server's numbers go
            round, after four billion transactions.
        look_every: How often to look for rows.
        state: Table of what is known of logs, a row each; made if it is not there.
        give_up_after: How long to try again while the database does not answer.

    Raises:
        CompileError: A name is empty.
        TypeError: `row` is no type that columns can be decoded to.
        ValueError: `look_every` is negative.

    Source: Kafka Connect's JDBC source in its mode `timestamp+incrementing`, which misses rows
    that commit late.
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
