"""Who reads what can be read by one alone."""

from __future__ import annotations

from psycopg import sql

from kstreams_postgres.catalog import beside_parameters
from kstreams_postgres.connecting import Connection

__all__ = ("reader_of",)


def reader_of(
    connection: Connection, state: sql.Identifier, column: str, name: str, reader: str
) -> str:
    """Return who reads a log from now on: the one who was there before, or else the given one.

    Args:
        connection: To the database.
        state: The table of what is known of logs.
        column: What names them.
        name: Of the log.
        reader: Who wants to read it; empty lets go of it, whoever reads it.
    """
    statement = sql.SQL(
        "UPDATE {} SET reader = CASE WHEN reader = '' OR %s = '' THEN %s ELSE reader END "
        "WHERE {} = %s RETURNING reader"
    ).format(beside_parameters(state), sql.Identifier(column))
    found = connection.execute(statement, (reader, reader, name)).fetchone()
    return "" if found is None else str(found[0])
