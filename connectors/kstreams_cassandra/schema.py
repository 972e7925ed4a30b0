"""The columns and the key of a table."""

from __future__ import annotations

from dataclasses import dataclass

from kstreams.errors import SinkError
from kstreams_cassandra.cluster import Database

__all__ = ("Names", "columns_of")


@dataclass(frozen=True)
class Names:
    """The names of the two tables that a sink writes, as Cassandra stores them (case-sensitive).

    Attributes:
        keyspace: Name of the keyspace of both tables.
        table: Name of the table that receives the results.
        epochs: Name of the table with the query's newest epoch, which rejects older drivers.
    """

    keyspace: str
    table: str
    epochs: str


def columns_of(database: Database, names: Names, key: tuple[str, ...]) -> frozenset[str]:
    """Return the columns of a table.

    Raises:
        SinkError: The table does not exist, has another key, or has counters.
    """
    place = f"{names.keyspace}.{names.table}"
    keyspace = database.metadata.keyspaces.get(names.keyspace)
    table = keyspace.tables.get(names.table) if keyspace is not None else None
    if table is None:
        raise SinkError(
            f"there is no table {place!r} in Cassandra",
            hint="create it, or correct its name: names that were not quoted are lower case.",
        )
    has = tuple(column.name for column in table.primary_key)
    if has != key:
        raise SinkError(
            f"the primary key of table {place!r} is {has!r}, not key={key!r}",
            hint="set key= to all columns of the primary key, in their order.",
        )
    if any(column.cql_type == "counter" for column in table.columns.values()):
        raise SinkError(
            f"table {place!r} has counters, which a repeated batch would increment again",
            hint="compute the sum in a state store, and write it to a table without counters.",
        )
    return frozenset(table.columns)
