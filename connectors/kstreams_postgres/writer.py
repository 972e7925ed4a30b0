"""Write a task's results of a batch in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, RefusedRow, Results, Writer
from kstreams_postgres.bulk import BulkWriter
from kstreams_postgres.catalog import Names, Table, described
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.fence import claim, note
from kstreams_postgres.row_making import Given, Made, Row, RowMaker
from kstreams_postgres.staging import stage
from kstreams_rows.refusing import Refusals

__all__ = ("PostgresWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


class PostgresWriter(Writer[K, V]):
    """A `Writer` with one connection.

    Args:
        database: The database to write to.
        names: The names of the tables.
        key: The columns of the key.
        given: The conversion of results to rows.
        stages: Whether rows are staged until the commit.
    """

    def __init__(
        self,
        database: Database,
        names: Names,
        key: tuple[str, ...],
        given: Given[K, V],
        *,
        stages: bool,
    ) -> None:
        self._database = database
        self._names = names
        self._key = key
        self._given = given
        self._stages = stages
        self._known: tuple[Connection, Table, BulkWriter, RowMaker] | None = None

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        made = list(self._given.made(results.records()))  # user code, before any lock
        refusals = Refusals(results, "PostgreSQL")
        return self._database.retried(lambda c: self._write(c, refusals, commit, made))

    @override
    def close(self) -> None:
        self._database.close()

    def _write(
        self,
        connection: Connection,
        refusals: Refusals,
        commit: CommitId,
        made: Sequence[Made],
    ) -> list[str]:
        refusals.begin()
        table, bulk, maker = self._opened(connection)
        rows, wrong = maker.rows(made)
        with connection.transaction():
            table.begin(connection)
            if self._stages:
                refused = _ordered([*wrong, *self._tried(connection, bulk, rows)])
                gone = {each.row for each in refused}
                good = _lasts([row for row in rows if row.number not in gone], self._key)
                receipts = stage(connection, bulk, table, commit, good)
            else:
                receipts = []
                before = claim(connection, self._names, commit)
                refused = _ordered([*wrong, *bulk.write(rows)]) if before is None else before
                if refused and before is None:
                    note(connection, self._names, commit, refused)
            refusals.reject(refused)
        return receipts

    def _tried(self, connection: Connection, bulk: BulkWriter, rows: list[Row]) -> list[RefusedRow]:
        """Write rows, and roll the write back; return the rows that the table rejects."""
        with connection.transaction(force_rollback=True):
            return bulk.write(rows)

    def _opened(self, connection: Connection) -> tuple[Table, BulkWriter, RowMaker]:
        """Return the table, the bulk writer and the row maker, created once per connection."""
        if self._known is None or self._known[0] is not connection:
            table = described(connection, self._names, self._key)
            bulk = BulkWriter(connection, table)
            self._known = connection, table, bulk, RowMaker(self._key, table.columns)
        return self._known[1:]


def _ordered(rows: Sequence[RefusedRow]) -> list[RefusedRow]:
    return sorted(rows, key=lambda each: each.row)


def _lasts(rows: list[Row], key: tuple[str, ...]) -> list[Row]:
    """Return the last row of each key; all rows without a key."""
    return list({row.key: row for row in rows}.values()) if key else rows
