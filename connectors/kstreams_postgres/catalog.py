"""The tables of a sink: their quoted names and their columns."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple

import psycopg
from psycopg import sql

from kstreams.errors import SinkError
from kstreams_postgres.connecting import Connection

__all__ = (
    "Column",
    "Names",
    "Table",
    "beside_parameters",
    "create_missing",
    "create_table",
    "described",
    "is_table",
)


class Column(NamedTuple):
    """A column of a table: its name, its SQL type, and the oid of the type."""

    name: str
    type: str
    oid: int


def beside_parameters(name: sql.Identifier) -> sql.Composable:
    """Return a quoted name for SQL with parameters: `%`, which marks a parameter, is doubled."""
    escaped: Any = name.as_string(None).replace("%", "%%")  # checkers want a literal
    return sql.SQL(escaped)


@dataclass(frozen=True)
class Names:
    """The table names of a sink as the user gives them, with an optional schema before a dot."""

    table: str
    fence: str

    @property
    def quoted_table(self) -> sql.Identifier:
        """The table, quoted."""
        return sql.Identifier(*self.table.split("."))

    @property
    def quoted_fence(self) -> sql.Identifier:
        """The table of fences, quoted."""
        return sql.Identifier(*self.fence.split("."))

    @property
    def fence_beside_parameters(self) -> sql.Composable:
        """The table of fences, for statements that have parameters."""
        return beside_parameters(self.quoted_fence)


@dataclass(frozen=True)
class Table:
    """A table in the database.

    Attributes:
        names: The names of the table and of its fence.
        key: The columns of the key; empty if rows are appended.
        columns: All writable columns, by name.
        defers: Whether the table has deferrable constraints.
    """

    names: Names
    key: tuple[str, ...]
    columns: dict[str, Column]
    defers: bool = False

    @property
    def target(self) -> sql.Identifier:
        """The table, quoted."""
        return self.names.quoted_table

    def begin(self, connection: Connection) -> None:
        """Make deferred constraints of the transaction immediate, so that errors name a row."""
        if self.defers:
            connection.execute("SET CONSTRAINTS ALL IMMEDIATE")

    @property
    def staged(self) -> sql.Identifier:
        """The table of staged rows, in the fence's schema; its name depends on the columns."""
        digest = sha256(repr((self.names.table, [c[:2] for c in self.columns.values()])).encode())
        *schema, _ = self.names.fence.split(".")
        return sql.Identifier(*schema, f"kstreams_staged_{digest.hexdigest()[:16]}")


_COLUMNS = """
SELECT attname::text, format_type(atttypid, atttypmod), atttypid::int8
FROM pg_attribute
WHERE attrelid = %s::text::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
ORDER BY attnum
"""

_KEYS = """
SELECT ARRAY(SELECT attname::text FROM pg_attribute
             WHERE attrelid = i.indrelid
               AND attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1]) ORDER BY attname)
FROM pg_index i
WHERE indrelid = %s::text::regclass AND indisunique AND indisvalid AND indimmediate
  AND indpred IS NULL AND indexprs IS NULL
"""

_DEFERS = """
SELECT EXISTS (SELECT 1 FROM pg_constraint
               WHERE conrelid = %s::text::regclass AND condeferrable)
"""

_FENCE = """
CREATE TABLE IF NOT EXISTS {} (
    epoch text NOT NULL, sink text NOT NULL, task integer NOT NULL,
    batch_number bigint NOT NULL, revision integer NOT NULL, fingerprint text NOT NULL,
    rejected text NOT NULL, PRIMARY KEY (epoch, sink, task))
"""

_STAGED = """
CREATE TABLE IF NOT EXISTS {} AS
SELECT ''::text AS kstreams_lane, 0::bigint AS kstreams_batch, ''::text AS kstreams_attempt,
       0::integer AS kstreams_part, t.* FROM {} t WITH NO DATA
"""


def described(connection: Connection, names: Names, key: tuple[str, ...]) -> Table:
    """Return the current description of a table.

    Raises:
        SinkError: The table does not exist, or lacks a key column or a unique constraint on the
            key.
    """
    quoted = names.quoted_table.as_string(connection)
    if not is_table(connection, names.quoted_table):
        raise SinkError(
            f"there is no table {names.table!r}",
            "42P01",
            hint="create it, or correct its name: the sink does not create it.",
        )
    rows = connection.execute(_COLUMNS, (quoted,)).fetchall()
    columns = {name: Column(name, kind, int(oid)) for name, kind, oid in rows}
    missing = [name for name in key if name not in columns]
    if missing:
        raise SinkError(
            f"table {names.table!r} has no column {missing[0]!r} of key=, only "
            f"{', '.join(columns)}",
            "42703",
            hint="set key= to the columns of the table's primary key or unique constraint.",
        )
    uniques = [found for (found,) in connection.execute(_KEYS, (quoted,)).fetchall()]
    if key and sorted(key) not in uniques:
        raise SinkError(
            f"table {names.table!r} has no primary key or unique constraint on key= "
            f"{', '.join(key)}",
            "42P10",
            hint="add one on exactly these columns (not partial, not deferrable), or correct key=.",
        )
    defers = connection.execute(_DEFERS, (quoted,)).fetchone()
    return Table(names, key, columns, bool(defers and defers[0]))


def create_missing(
    connection: Connection, names: Names, key: tuple[str, ...], stages: bool
) -> None:
    """Check a table, and create the sink's own tables if they do not exist.

    Args:
        connection: A connection to the database.
        names: The names of the table and of its fence.
        key: The columns of the key.
        stages: Whether the sink also needs a table of staged rows.
    """
    table = described(connection, names, key)
    create_table(connection, names.quoted_fence, sql.SQL(_FENCE).format(names.quoted_fence))
    if stages:
        made = sql.SQL(_STAGED).format(table.staged, table.target)
        if create_table(connection, table.staged, made):
            statement = sql.SQL("CREATE INDEX ON {} (kstreams_lane, kstreams_batch)")
            connection.execute(statement.format(table.staged))


def create_table(connection: Connection, name: sql.Identifier, statement: sql.Composed) -> bool:
    """Create a table if it does not exist; return whether this call created it.

    The role needs the right to create tables only if the table does not exist.
    """
    if is_table(connection, name):
        return False
    with suppress(psycopg.errors.UniqueViolation, psycopg.errors.DuplicateTable):  # of a race
        connection.execute(statement)
        return True
    return False


def is_table(connection: Connection, name: sql.Identifier) -> bool:
    """Return whether a table exists."""
    quoted = name.as_string(connection)
    found = connection.execute("SELECT to_regclass(%s::text)", (quoted,)).fetchone()
    return found is not None and found[0] is not None
