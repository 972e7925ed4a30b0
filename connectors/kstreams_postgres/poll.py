"""Queries on the rows of a polled table, in the order of their transactions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

from psycopg import sql

from kstreams.errors import DataLossError, SourceError
from kstreams_postgres.catalog import beside_parameters, create_table, is_table
from kstreams_postgres.connecting import Connection
from kstreams_postgres.slot import table_name
from kstreams_postgres.table_check import described_table

__all__ = (
    "Mark",
    "PollNames",
    "PollState",
    "find_marks",
    "first_at",
    "made_state",
    "store_committed",
    "time_of",
)

_SYSTEM = "xmin"
"""The system column with the lower 32 bits of the number of a row's transaction."""
_EPOCH = 1 << 32
_MARK_ROWS = 10_000

_TABLE = """
CREATE TABLE {} (
    name text PRIMARY KEY, log_id text NOT NULL, relation text NOT NULL, transaction text NOT NULL,
    key text[] NOT NULL, reader text NOT NULL DEFAULT '', bound int8 NOT NULL DEFAULT 0,
    next_offset int8 NOT NULL DEFAULT 0, open_bound int8 NOT NULL DEFAULT 0,
    open_rows int8 NOT NULL DEFAULT 0)
"""

_STATE = """
SELECT log_id, key, reader, bound, next_offset, open_bound, open_rows,
       pg_snapshot_xmin(pg_current_snapshot())::text::int8,
       pg_snapshot_xmax(pg_current_snapshot())::text::int8, relation, transaction
FROM {} WHERE name = %s
"""


class PollNames(NamedTuple):
    """The names of a polled table.

    Attributes:
        log: The name of the log.
        table: The table, with an optional schema.
        transaction: The column with the number of a row's transaction.
        time: The column with a row's time.
        state: The table with the state of logs, one row per log.
    """

    log: str
    table: str
    transaction: str
    time: str
    state: str

    @property
    def number(self) -> sql.Composable:
        """The SQL expression of the number of a row's transaction, as an integer."""
        return sql.SQL("t.{}::text::int8").format(sql.Identifier(self.transaction))

    def between(self, low: int, high: int) -> sql.Composable:
        """Return the SQL condition that a row's transaction number is in `low <= number < high`."""
        if self.transaction == _SYSTEM:
            return sql.SQL("{number} >= {low} AND {number} < {high}").format(
                number=self.number, low=sql.Literal(low), high=sql.Literal(high)
            )
        return sql.SQL("t.{0} >= {1}::xid8 AND t.{0} < {2}::xid8").format(
            sql.Identifier(self.transaction), sql.Literal(str(low)), sql.Literal(str(high))
        )

    def order(self, key: tuple[str, ...]) -> sql.Composable:
        """Return the SQL sort expressions: the transaction's number, then the key columns."""
        names = [sql.SQL("t.{}").format(sql.Identifier(name)) for name in key]
        return sql.SQL(", ").join([self.number, *names])


class PollState(NamedTuple):
    """The state of a log.

    Attributes:
        log_id: The id of the log.
        key: The columns of the table's primary key.
        reader: The app that has claimed the log; empty if there is none.
        bound: All transactions below this number are committed by the app.
        offset: The offset of the first row of transactions from `bound` on.
        open_bound: The transactions from `bound` to before this number were read in part; 0 if
            there are none.
        open_rows: The number of rows of those transactions.
        settled: All transactions below this number have ended.
        next: The number of the next transaction, which has not begun.
    """

    log_id: str
    key: tuple[str, ...]
    reader: str
    bound: int
    offset: int
    open_bound: int
    open_rows: int
    settled: int
    next: int


class Mark(NamedTuple):
    """The end of a range of rows: the transaction number and the offset after the last row."""

    bound: int
    stop: int


def made_state(connection: Connection, names: PollNames, required: frozenset[str]) -> PollState:
    """Return the state of a log, and create it if it does not exist.

    Raises:
        SourceError: The table cannot be polled, or the log belongs to another table.
        DataLossError: The number of rows between the last two planned positions has changed.
    """
    oid, key = described_table(connection, names.table, required | {names.time})
    state = table_name(names.state)
    if not is_table(connection, state):
        create_table(connection, state, sql.SQL(_TABLE).format(state))
    insert = sql.SQL(
        "INSERT INTO {} (name, log_id, relation, transaction, key) VALUES (%s, %s, %s, %s, %s) "
        "ON CONFLICT (name) DO NOTHING"
    ).format(beside_parameters(state))
    table = f"{names.table} ({oid})"
    connection.execute(insert, (names.log, uuid4().hex, table, names.transaction, list(key)))
    found = connection.execute(
        sql.SQL(_STATE).format(beside_parameters(state)), (names.log,)
    ).fetchone()
    if found is None:
        raise SourceError(
            f"forget() of log {names.log!r} was called while the app started to read it",
            hint="start the app again.",
        )
    *values, relation, transaction = found
    values[1] = tuple(values[1])
    known = PollState(*values)
    if (relation, transaction, known.key) != (table, names.transaction, key):
        raise SourceError(
            f"log {names.log!r} was created for table {relation}, transaction={transaction!r} and "
            f"primary key {known.key}, but now has table {table}, "
            f"transaction={names.transaction!r} and primary key {key}",
            hint="forget() the log and reset the app, or give the log another name.",
        )
    _check(connection, names, known)
    return known


def _check(connection: Connection, names: PollNames, state: PollState) -> None:
    if names.transaction == _SYSTEM and state.next >= _EPOCH:
        raise SourceError(
            "transaction ids have wrapped around: xmin cannot separate old rows of "
            f"{names.table!r} from new ones",
            hint=f"ALTER TABLE {names.table} ADD transaction xid8 DEFAULT pg_current_xact_id(), "
            "create an index on this column, and read a log of another name with "
            "transaction='transaction'.",
        )
    if state.open_bound:
        count = sum(rows for _, rows in _counts(connection, names, state.bound, state.open_bound))
        if count != state.open_rows:
            raise DataLossError(
                f"table {names.table!r} had {state.open_rows} rows between the last two planned "
                f"positions, and has {count} there now, so offsets do not match the rows any more",
                hint="a polled table must be append-only; delete rows only some batches after the "
                "app has committed them. forget() the log and reset the app.",
            )


def find_marks(
    connection: Connection, names: PollNames, low: int, high: int, offset: int
) -> Iterator[Mark]:
    """Yield the positions at which a read may end: after thousands of rows, and at the last row.

    Args:
        connection: A connection to the database.
        names: The names of the table and its columns.
        low: The number of the first transaction.
        high: The number after the last transaction.
        offset: The offset of the first row of these transactions.
    """
    stop = last = offset
    for number, rows in _counts(connection, names, low, high):
        if stop - last >= _MARK_ROWS:
            yield Mark(number, stop)
            last = stop
        stop += rows
    yield Mark(high, stop)


def _counts(
    connection: Connection, names: PollNames, low: int, high: int
) -> Iterator[tuple[int, int]]:
    query = sql.SQL(
        "SELECT {number}, count(*)::int8 FROM {table} t WHERE {rows} GROUP BY 1 ORDER BY 1"
    ).format(number=names.number, table=table_name(names.table), rows=names.between(low, high))
    yield from connection.execute(query)


def first_at(
    connection: Connection,
    names: PollNames,
    state: PollState,
    low: int,
    high: int,
    timestamp_ms: int,
) -> tuple[int, int] | None:
    """Return position and time (ms) of the first row that is not before a time; None without one.

    The position is counted from 0 within the rows of the transactions from `low` to below `high`.
    """
    query = sql.SQL(
        "SELECT n, ms FROM (SELECT row_number() OVER (ORDER BY {order}) - 1 AS n, {ms} AS ms "
        "FROM {table} t WHERE {rows}) AS numbered WHERE ms >= {time} ORDER BY n LIMIT 1"
    ).format(
        order=names.order(state.key),
        ms=time_of(names),
        table=table_name(names.table),
        rows=names.between(low, high),
        time=sql.Literal(timestamp_ms),
    )
    found = connection.execute(query).fetchone()
    return None if found is None else (found[0], found[1])


def time_of(names: PollNames) -> sql.Composable:
    """Return the SQL expression of a row's time, ms since the epoch."""
    return sql.SQL("floor(extract(epoch FROM t.{}) * 1000)::int8").format(
        sql.Identifier(names.time)
    )


def store_committed(connection: Connection, names: PollNames, state: PollState) -> None:
    """Store the committed position of a log, which may be within a transaction's rows."""
    update = sql.SQL(
        "UPDATE {} SET bound = %s, next_offset = %s, open_bound = %s, open_rows = %s "
        "WHERE name = %s AND next_offset <= %s"
    ).format(beside_parameters(table_name(names.state)))
    values = (state.bound, state.offset, state.open_bound, state.open_rows)
    connection.execute(update, (*values, names.log, state.offset))
