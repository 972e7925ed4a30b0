"""Tables whose changes are read, and the records read by tests."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

import psycopg
import pyarrow as pa
from psycopg import sql

from kstreams import INT64
from kstreams.log import LogContents, Piece
from kstreams.raw_batch import NO_LIMIT, UNREADABLE
from kstreams.serde.objects import objects_of
from kstreams_postgres import Change, PostgresChanges, changes
from tests.support.sinks.postgres_tables import SOON

__all__ = ("ORDERS", "Order", "Read", "Shop", "all_of", "read", "read_pieces")

ORDERS = "CREATE TABLE orders (id bigint PRIMARY KEY, item text NOT NULL, count int)"


@dataclass(frozen=True)
class Order:
    """A row of the table `orders`."""

    id: int
    item: str
    count: int | None = None


class Read(NamedTuple):
    """A record that was read."""

    offset: int
    time: int
    key: Any
    change: Change[Any] | None
    unreadable: str | None = None


class Shop:
    """A database whose tables' changes are read by unique slots.

    Args:
        url: Address of the database.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.slot = f"s_{uuid4().hex[:12]}"

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements in one transaction; return the rows of the last one."""
        with psycopg.connect(self.url) as connection:
            *before, last = statements
            for statement in before:
                connection.execute(statement.encode())
            found = connection.execute(last.encode())
            return found.fetchall() if found.description else []

    def log(self, **options: Any) -> PostgresChanges[int, Order]:
        """Return the log of the table `orders`."""
        given: dict[str, Any] = {"slot": self.slot, "give_up_after": SOON, **options}
        key, row = given.pop("key", INT64), given.pop("row", Order)
        return changes("orders", self.url, given.pop("table", "orders"), key, row, **given)

    def begin(self, **options: Any) -> PostgresChanges[int, Order]:
        """Create the slot; return the log."""
        log = self.log(**options)
        with closing(log.contents()) as contents:
            contents.ends()
        return log

    def drop_slots(self) -> None:
        """Drop the slots of this shop."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL(
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots "
                    "WHERE slot_name LIKE {}"
                ).format(sql.Literal(f"{self.slot}%"))
            )


def all_of(log: PostgresChanges[Any, Any], start: int | None = None) -> list[Read]:
    """Return all records of a log, as at its first start."""
    with closing(log.contents()) as contents:
        stop = contents.ends()[0]
        return read(log, contents, contents.beginnings()[0] if start is None else start, stop)


def read(
    log: PostgresChanges[Any, Any], contents: LogContents, start: int, stop: int
) -> list[Read]:
    """Return the records between two offsets."""
    return read_pieces(log, list(contents.pieces(0, start, stop)))


def read_pieces(log: PostgresChanges[Any, Any], pieces: Sequence[Piece]) -> list[Read]:
    """Return the records of pieces."""
    with closing(log.reader()) as reader:
        tables = [reader.read(piece, max_bytes=NO_LIMIT) for piece in pieces]
    return [record for table in tables for record in _records(log, table)]


def _records(log: PostgresChanges[Any, Any], table: pa.Table) -> list[Read]:
    columns = [objects_of(table.column(name)) for name in ("offset", "timestamp", "key", "value")]
    said: list[str | None] = [None] * table.num_rows
    if UNREADABLE in table.column_names:
        said = table.column(UNREADABLE).to_pylist()
    return [
        Read(
            offset,
            time,
            None if key is None else log.key.deserialize(key),
            None if why else log.value.deserialize(value),
            why,
        )
        for offset, time, key, value, why in zip(*columns, said, strict=True)
    ]
