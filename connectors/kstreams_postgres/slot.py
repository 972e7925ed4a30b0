"""A replication slot and its stored state, which maps changes to offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from psycopg import sql

from kstreams.errors import DataLossError, SourceError
from kstreams_postgres.catalog import beside_parameters, is_table
from kstreams_postgres.connecting import Connection
from kstreams_postgres.pgoutput import commit_of

__all__ = (
    "SlotNames",
    "SlotState",
    "Transaction",
    "advance",
    "changes_query",
    "lsn_text",
    "slot_held",
    "slot_state",
    "table_name",
    "transactions",
)

_ANEW = (
    "the records between are lost: drop() the log and reset the app, which copies the table again."
)
_KEEP_MORE = " A larger max_slot_wal_keep_size, or a shorter stop of the app, avoids it."
_ALONE = " A slot has one reader."


@dataclass(frozen=True)
class SlotNames:
    """The database objects of a log.

    Attributes:
        slot: The replication slot.
        table: The table whose changes are read, with an optional schema.
        state: The table with the state of slots, one row per slot.
        publication: The user's publication; None creates one of the table, named like the slot.
    """

    slot: str
    table: str
    state: str
    publication: str | None

    @property
    def copy(self) -> sql.Identifier:
        """The name of the table with the copied rows, in the schema of the table `state`.

        The copied rows are the rows that `table` had when the slot was created.
        """
        *schema, _ = self.state.split(".")
        return sql.Identifier(*schema, f"kstreams_copy_{self.slot}")

    @property
    def published(self) -> str:
        """The publication that is read."""
        return self.publication or self.slot


def table_name(name: str) -> sql.Identifier:
    """Return the quoted name of a table; a schema comes before a dot."""
    return sql.Identifier(*name.split("."))


class SlotState(NamedTuple):
    """The state of a slot in the database.

    Attributes:
        log_id: The id of the log; another slot with the same name has another id.
        oid: The oid of the table.
        key: The columns of the table's primary key.
        reader: The app that has claimed the slot; empty if there is none.
        copied: The number of rows that existed before the slot; their offsets come first.
        copied_ms: The time of the copy, in ms since the epoch.
        lsn: The position up to which the app has committed.
        offset: The offset of the first record after `lsn`, or of the first copied row still needed.
        slot_lsn: The position of the slot; None if it does not exist.
        wal: The server's `wal_status`: `reserved`, `extended`, `unreserved` or `lost`.
        written: The position at the end of the server's log.
        kept: The bytes of the log retained for the slot.
        room: The bytes that can be written before the slot is lost; None without a limit.
        present: The oid of the object that now has the table's name; None if there is none.
    """

    log_id: str
    oid: int
    key: tuple[str, ...]
    reader: str
    copied: int
    copied_ms: int
    lsn: int
    offset: int
    slot_lsn: int | None
    wal: str
    written: int
    kept: int
    room: int | None
    present: int | None

    @property
    def base(self) -> int:
        """The offset of the first change after `lsn`."""
        return max(self.offset, self.copied)

    def check(self, names: SlotNames) -> None:
        """Check that all uncommitted changes and copied rows still exist.

        Raises:
            DataLossError: Uncommitted changes or copied rows are lost.
            SourceError: The table was replaced by another one.
        """
        slot = names.slot
        if self.slot_lsn is None:
            raise DataLossError(f"replication slot {slot!r} was dropped", hint=_ANEW)
        if self.wal == "lost":
            raise DataLossError(
                f"replication slot {slot!r} fell behind, and the server removed the WAL that it "
                "needs (wal_status is lost)",
                hint=_ANEW + _KEEP_MORE,
            )
        if self.slot_lsn > self.lsn:
            raise DataLossError(
                f"replication slot {slot!r} was moved to {lsn_text(self.slot_lsn)} or created "
                "again by another client; the log no longer has changes before "
                f"{lsn_text(self.lsn)}",
                hint=_ANEW + _ALONE,
            )
        if self.present != self.oid:
            raise SourceError(
                f"table {names.table!r} was dropped or created again after the log was created",
                hint="drop() the log and reset the app, which copies the table again.",
            )


_STATE = """
SELECT s.log_id, s.oid, s.key, s.reader, s.copied, s.copied_ms, (s.lsn - '0/0')::int8,
       s.next_offset, (r.confirmed_flush_lsn - '0/0')::int8, coalesce(r.wal_status, ''),
       (pg_current_wal_flush_lsn() - '0/0')::int8,
       coalesce(pg_current_wal_flush_lsn() - r.restart_lsn, 0)::int8, r.safe_wal_size,
       to_regclass(%s::text)::oid::int8, s.relation
FROM {} s LEFT JOIN pg_replication_slots r ON r.slot_name = s.slot
WHERE s.slot = %s AND s.copied IS NOT NULL
"""


def slot_state(connection: Connection, names: SlotNames) -> SlotState | None:
    """Return the state of a slot; None if it was not created, or not completely.

    Raises:
        SourceError: The slot belongs to another table.
    """
    if not is_table(connection, table_name(names.state)):
        return None
    query = sql.SQL(_STATE).format(beside_parameters(table_name(names.state)))
    table = table_name(names.table).as_string(connection)
    found = connection.execute(query, (table, names.slot)).fetchone()
    if found is None:
        return None
    *values, relation = found
    if relation != names.table:
        raise SourceError(
            f"replication slot {names.slot!r} was created for table {relation!r}, not "
            f"{names.table!r}",
            hint="give each log another slot=.",
        )
    values[2] = tuple(values[2])
    return SlotState(*values)


@contextmanager
def slot_held(connection: Connection, slot: str) -> Iterator[None]:
    """Lock a slot during the `with` block; other sessions of this library wait.

    The connection must be closed after an exception.
    """
    lock = f"kstreams slot {slot}"
    connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", (lock,))
    yield
    connection.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", (lock,))


_PEEK = """
pg_logical_slot_peek_binary_changes({slot}, {upto}::pg_lsn, NULL, 'proto_version', '1',
                                    'publication_names', {publication})
"""

_COUNTED = """
WITH m AS (SELECT xid, data, get_byte(data, 0) AS kind FROM {}),
own AS (
    SELECT *, CASE WHEN kind IN (73, 85, 68) AND substr(data, 2, 4) = {oid} THEN
                  CASE kind WHEN 85 THEN 2 ELSE 1 END
              WHEN kind = 84 AND EXISTS (SELECT FROM generate_series(7, length(data) - 3, 4) AS i
                                         WHERE substr(data, i, 4) = {oid}) THEN 1
              ELSE 0 END AS offsets
    FROM m)
SELECT (array_agg(data) FILTER (WHERE kind = 67))[1], sum(offsets)::int8,
       sum(length(data)) FILTER (WHERE offsets > 0)
FROM own GROUP BY xid HAVING sum(offsets) > 0
"""
"""Counts offsets: an update takes two, as a key change has a deletion too; others take one."""


class Transaction(NamedTuple):
    """A transaction that changed the table.

    Attributes:
        end: The position after its commit in the log.
        time_ms: The time of the commit, in ms since the epoch.
        offsets: The number of offsets it takes.
        size: The size of its changes, in bytes.
    """

    end: int
    time_ms: int
    offsets: int
    size: int


def transactions(
    connection: Connection, names: SlotNames, state: SlotState
) -> Sequence[Transaction]:
    """Return the uncommitted transactions in commit order."""
    query = sql.SQL(_COUNTED).format(
        _peek(names, state.written), oid=sql.Literal(state.oid.to_bytes(4, "big"))
    )
    found: list[Transaction] = []
    with slot_held(connection, names.slot):
        cursor = connection.cursor(binary=True)
        cursor.execute(query)
    for data, offsets, size in cursor:
        lsn, end, time_ms = commit_of(data)
        if state.lsn <= lsn and end <= state.written:
            found.append(Transaction(end, time_ms, offsets, size))
    return sorted(found)


def changes_query(names: SlotNames, upto: int) -> sql.Composed:
    """Return the query for the messages of a slot, up to a transaction's end position."""
    return sql.SQL("SELECT data FROM {}").format(_peek(names, upto))


def _peek(names: SlotNames, upto: int) -> sql.Composed:
    return sql.SQL(_PEEK).format(
        slot=sql.Literal(names.slot),
        upto=sql.Literal(lsn_text(upto)),
        publication=sql.Literal(sql.Identifier(names.published).as_string(None)),
    )


def advance(connection: Connection, names: SlotNames, lsn: int, offset: int) -> None:
    """Store the offset at a position, then let the server delete its log before the position."""
    update = sql.SQL(
        "UPDATE {} SET lsn = %s::pg_lsn, next_offset = %s "
        "WHERE slot = %s AND lsn <= %s::pg_lsn AND next_offset <= %s"
    ).format(beside_parameters(table_name(names.state)))
    values: tuple[Any, ...] = (lsn_text(lsn), offset, names.slot, lsn_text(lsn), offset)
    if connection.execute(update, values).rowcount:
        with slot_held(connection, names.slot):
            connection.execute(
                "SELECT pg_replication_slot_advance(slot_name, %s::pg_lsn) "
                "FROM pg_replication_slots "
                "WHERE slot_name = %s AND confirmed_flush_lsn < %s::pg_lsn",
                (lsn_text(lsn), names.slot, lsn_text(lsn)),
            )


def lsn_text(lsn: int) -> str:
    """Return an LSN in PostgreSQL's text form."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
