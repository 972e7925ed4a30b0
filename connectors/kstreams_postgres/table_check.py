"""Checks that a table can be a source: its primary key, columns and replica identity."""

from __future__ import annotations

from kstreams.errors import SourceError
from kstreams_postgres.connecting import Connection
from kstreams_postgres.slot import table_name

__all__ = ("changed_table", "described_table")

_KEY = """
SELECT c.oid::int8, c.relreplident::text, coalesce(k.indisreplident, false),
       ARRAY(SELECT attname::text FROM unnest(k.indkey::int2[]) WITH ORDINALITY AS n(number, place)
             JOIN pg_attribute ON attrelid = c.oid AND attnum = number ORDER BY place),
       ARRAY(SELECT attname::text FROM pg_attribute
             WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum)
FROM pg_class c LEFT JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary
WHERE c.oid = to_regclass(%s::text)
"""


def described_table(
    connection: Connection, table: str, required: frozenset[str]
) -> tuple[int, tuple[str, ...]]:
    """Return a table's oid and the columns of its primary key.

    Raises:
        SourceError: The table, its primary key, or a required column does not exist.
    """
    oid, key, *_ = _described(connection, table, required)
    return oid, key


def changed_table(
    connection: Connection, table: str, required: frozenset[str]
) -> tuple[int, tuple[str, ...]]:
    """Return the oid and the key of a table whose changes are read.

    Raises:
        SourceError: The table does not exist, lacks a primary key or a required column, or its
            replica identity lacks the primary key.
    """
    oid, key, identity, is_index = _described(connection, table, required)
    if identity == "n" or (identity == "i" and not is_index):
        raise SourceError(
            f"the replica identity of table {table!r} does not include its primary key, so changes "
            "do not identify their rows",
            hint=f"ALTER TABLE {table} REPLICA IDENTITY DEFAULT, or FULL to get old rows, too.",
        )
    return oid, key


def _described(
    connection: Connection, table: str, required: frozenset[str]
) -> tuple[int, tuple[str, ...], str, bool]:
    found = connection.execute(_KEY, (table_name(table).as_string(connection),)).fetchone()
    if found is None:
        raise SourceError(
            f"there is no table {table!r}", hint="create it, or give its schema, too: schema.table."
        )
    oid, identity, is_index, key, columns = found
    if not key:
        raise SourceError(
            f"table {table!r} has no primary key, which the records need as their key",
            hint=f"give it one: ALTER TABLE {table} ADD PRIMARY KEY (...).",
        )
    if missing := sorted(required.difference(columns)):
        raise SourceError(
            f"table {table!r} has no column {missing[0]!r}, only {', '.join(columns)}",
            hint="add the column; or give the field of the row type a default, or correct time=.",
        )
    return oid, tuple(key), identity, is_index
