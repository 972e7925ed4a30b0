"""Creates a slot with a copy of the existing rows of its table, and drops both."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from uuid import uuid4

import psycopg
from psycopg import sql

from kstreams.errors import SourceError
from kstreams_postgres.catalog import beside_parameters, create_table, is_table
from kstreams_postgres.claiming import reader_of
from kstreams_postgres.connecting import Connection
from kstreams_postgres.slot import SlotNames, SlotState, slot_held, slot_state, table_name
from kstreams_postgres.table_check import changed_table

__all__ = ("Making", "check_slot", "drop_slot", "make_slot", "release_slot")

_TABLE = """
CREATE TABLE {} (
    slot text PRIMARY KEY, log_id text NOT NULL, relation text NOT NULL, oid int8 NOT NULL,
    key text[] NOT NULL, published bool NOT NULL, reader text NOT NULL DEFAULT '',
    copied int8, copied_ms int8 NOT NULL DEFAULT 0, lsn pg_lsn NOT NULL DEFAULT '0/0',
    next_offset int8 NOT NULL DEFAULT 0)
"""

_BEGUN = """
INSERT INTO {} AS s (slot, log_id, relation, oid, key, published) VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (slot) DO UPDATE SET log_id = excluded.log_id, relation = excluded.relation,
    oid = excluded.oid, key = excluded.key, published = excluded.published
"""

_COPY = """
CREATE TABLE {} AS
SELECT row_number() OVER (ORDER BY {key}) - 1 AS kstreams_offset, t.* FROM {} t
"""

_READY = """
UPDATE {} SET copied = %s, lsn = %s::pg_lsn, next_offset = 0,
    copied_ms = (extract(epoch FROM clock_timestamp()) * 1000)::int8
WHERE slot = %s
"""


def check_slot(
    connection: Connection, names: SlotNames, state: SlotState, required: frozenset[str]
) -> None:
    """Check that a slot still fits its log.

    Raises:
        SourceError: The primary key has changed, the publication no longer has the table, or the
            table lacks a required column.
    """
    _, key = changed_table(connection, names.table, required)
    if key != state.key:
        raise SourceError(
            f"the primary key of table {names.table!r} was {', '.join(state.key)} when the log was "
            f"created, and is {', '.join(key)} now",
            hint="drop() the log and reset the app, which copies the table again.",
        )
    _check_publication(connection, names)


@dataclass(frozen=True)
class Making:
    """The options for creating a slot.

    Attributes:
        url: The URL of the database, for a replication connection.
        required: The columns that the table must have.
        snapshot: Whether to copy the existing rows.
    """

    url: str
    required: frozenset[str]
    snapshot: bool


def make_slot(connection: Connection, names: SlotNames, making: Making) -> SlotState:
    """Return the state of a slot, and create the slot if it does not exist; safe to repeat.

    If `making.snapshot` is true, the table is copied from the snapshot that the slot exports when
    it is created. So the copied rows contain all changes before the snapshot, and the slot returns
    all changes after the snapshot.

    Args:
        connection: A connection to the database.
        names: The names of the slot and its tables.
        making: The options for creating the slot.

    Raises:
        SourceError: The table, its key or the publication does not exist, or a slot of that name
            does not belong to the log.
    """
    with slot_held(connection, f"{names.slot} is made"):
        known = slot_state(connection, names)
        if known is None:
            _make(connection, names, making)
            known = slot_state(connection, names)
    if known is None:
        raise SourceError(
            f"replication slot {names.slot!r} was dropped while the app created it",
            hint="start the app again.",
        )
    return known


def _make(connection: Connection, names: SlotNames, making: Making) -> None:
    oid, key = changed_table(connection, names.table, making.required)
    state, slot = table_name(names.state), (names.slot,)
    create_table(connection, state, sql.SQL(_TABLE).format(state))
    known = beside_parameters(state)
    begun = connection.execute(sql.SQL("SELECT FROM {} WHERE slot = %s").format(known), slot)
    there = connection.execute("SELECT FROM pg_replication_slots WHERE slot_name = %s", slot)
    if there.rowcount and not begun.rowcount:
        raise SourceError(
            f"replication slot {names.slot!r} exists, but table {names.state!r} does not list it "
            "as a slot of a log",
            hint="give another name in slot=, or drop the slot if no other client uses it.",
        )
    if there.rowcount:  # of one who died while making it
        connection.execute("SELECT pg_drop_replication_slot(%s)", slot)
    own = names.publication is None
    values = (names.slot, uuid4().hex, names.table, oid, list(key), own)
    connection.execute(sql.SQL(_BEGUN).format(known), values)
    _publish(connection, names)
    with closing(
        psycopg.connect(making.url, replication="database", autocommit=True, connect_timeout=10)
    ) as walsender:
        made = walsender.execute(
            sql.SQL("CREATE_REPLICATION_SLOT {} LOGICAL pgoutput EXPORT_SNAPSHOT").format(
                sql.Identifier(names.slot)
            )
        ).fetchone()
        if made is None:
            raise psycopg.OperationalError(f"no answer to CREATE_REPLICATION_SLOT {names.slot}")
        _, lsn, exported, _ = made
        with connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute(sql.SQL("SET TRANSACTION SNAPSHOT {}").format(sql.Literal(exported)))
            copied = _copied(connection, names, key) if making.snapshot else 0
            connection.execute(sql.SQL(_READY).format(known), (copied, lsn, names.slot))


def _publish(connection: Connection, names: SlotNames) -> None:
    """Create the log's own publication if needed, and check that it has the table."""
    if names.publication is None:
        name = sql.Identifier(names.slot)
        connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(name))
        statement = "CREATE PUBLICATION {} FOR TABLE {} WITH (publish_via_partition_root = true)"
        connection.execute(sql.SQL(statement).format(name, table_name(names.table)))
    _check_publication(connection, names)


def _check_publication(connection: Connection, names: SlotNames) -> None:
    found = connection.execute(
        "SELECT FROM pg_publication_tables WHERE pubname = %s "
        "AND format('%%I.%%I', schemaname, tablename)::regclass = to_regclass(%s::text)",
        (names.published, table_name(names.table).as_string(connection)),
    )
    if not found.rowcount:
        raise SourceError(
            f"publication {names.published!r} does not exist, or does not have table "
            f"{names.table!r}",
            hint=f"CREATE PUBLICATION {names.published} FOR TABLE {names.table}; or leave out "
            "publication=: the log then creates a publication together with its slot.",
        )


def _copied(connection: Connection, names: SlotNames, key: tuple[str, ...]) -> int:
    """Copy the table's rows in the current snapshot to the table `names.copy`.

    Returns:
        The number of rows.
    """
    columns = sql.SQL(", ").join(map(sql.Identifier, key))
    connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(names.copy))
    query = sql.SQL(_COPY).format(names.copy, table_name(names.table), key=columns)
    count = connection.execute(query).rowcount
    statement = sql.SQL("ALTER TABLE {} ADD PRIMARY KEY (kstreams_offset)")
    connection.execute(statement.format(names.copy))
    return count


def drop_slot(connection: Connection, names: SlotNames) -> None:
    """Drop a slot, its own publication, its copied rows and its state; idempotent.

    Raises:
        SourceError: The slot belongs to another table.
    """
    with slot_held(connection, f"{names.slot} is made"), slot_held(connection, names.slot):
        if not is_table(connection, table_name(names.state)):
            return
        slot_state(connection, names)  # or it is of another table
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
            "WHERE slot_name = %s",
            (names.slot,),
        )
        with connection.transaction():
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(names.copy))
            if names.publication is None:
                statement = sql.SQL("DROP PUBLICATION IF EXISTS {}")
                connection.execute(statement.format(sql.Identifier(names.slot)))
            statement = sql.SQL("DELETE FROM {} WHERE slot = %s")
            connection.execute(
                statement.format(beside_parameters(table_name(names.state))), (names.slot,)
            )


def release_slot(connection: Connection, names: SlotNames) -> None:
    """Release a slot from its reader, so that another can claim it; no-op without a slot."""
    if slot_state(connection, names) is not None:
        reader_of(connection, table_name(names.state), "slot", names.slot, "")
