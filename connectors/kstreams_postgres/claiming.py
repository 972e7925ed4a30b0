"""Claims of logs that allow a single reader."""

from __future__ import annotations

from psycopg import sql

from kstreams_postgres.catalog import beside_parameters
from kstreams_postgres.connecting import Connection

__all__ = ("reader_of",)


def reader_of(
    connection: Connection, state: sql.Identifier, column: str, name: str, reader: str
) -> str:
    """Claim or release a log in the database; return the log's reader after the call.

    If another reader has claimed the log, that reader is returned and nothing changes.

    Args:
        connection: A connection to the database.
        state: The table with the state of logs.
        column: The column with the names of logs.
        name: The name of the log.
        reader: The reader that claims the log; empty releases the log from any reader.
    """
    statement = sql.SQL(
        "UPDATE {} SET reader = CASE WHEN reader = '' OR %s = '' THEN %s ELSE reader END "
        "WHERE {} = %s RETURNING reader"
    ).format(beside_parameters(state), sql.Identifier(column))
    found = connection.execute(statement, (reader, reader, name)).fetchone()
    return "" if found is None else str(found[0])
