"""Write a task's results of a batch in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from kstreams.errors import SinkUnavailableError
from kstreams.sinks import CommitId, RefusedRow, Results
from kstreams_postgres.bulk import BulkWriter
from kstreams_postgres.catalog import Names, Table, described
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.fence import claim, note
from kstreams_postgres.rows import Given, Made, Row, RowMaker
from kstreams_postgres.staging import stage

__all__ = ("PostgresWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""


class PostgresWriter(Generic[K, V]):
    """A `Writer` with one connection.

    Args:
        database: Where to.
        names: The tables.
        key: Columns of the key.
        given: How rows are made.
        stages: Whether rows wait for the commit.
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

    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        """Write a batch's results, once."""
        made = list(self._given.made(results.records()))  # user code, before any lock
        attempt = _Attempt(results)
        return self._database.retried(lambda c: self._write(c, attempt, commit, made))

    def close(self) -> None:
        """Close the connection."""
        self._database.close()

    def _write(
        self,
        connection: Connection,
        attempt: _Attempt[K, V],
        commit: CommitId,
        made: Sequence[Made],
    ) -> list[str]:
        attempt.begin()
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
            attempt.refuse(refused)
        return receipts

    def _tried(self, connection: Connection, bulk: BulkWriter, rows: list[Row]) -> list[RefusedRow]:
        """Return the rows that the table would not take."""
        with connection.transaction(force_rollback=True):
            return bulk.write(rows)

    def _opened(self, connection: Connection) -> tuple[Table, BulkWriter, RowMaker]:
        """Return what belongs to a connection, made once for each."""
        if self._known is None or self._known[0] is not connection:
            table = described(connection, self._names, self._key)
            bulk = BulkWriter(connection, table)
            self._known = connection, table, bulk, RowMaker(self._key, table.columns)
        return self._known[1:]


class _Attempt(Generic[K, V]):
    """Refuses rows once, though the transaction may have to be repeated."""

    def __init__(self, results: Results[K, V]) -> None:
        self.results = results
        self._told = False

    def begin(self) -> None:
        """Begin a transaction, for the first time or again.

        Raises:
            SinkUnavailableError: Rows were refused, and then the connection was lost: what becomes
                of them is known when the batch comes again.
        """
        if self._told:
            raise SinkUnavailableError(
                "PostgreSQL was lost when a batch with refused rows was committed",
                hint="nothing is lost: the batch comes again.",
            )

    def refuse(self, rows: Sequence[RefusedRow]) -> None:
        """Refuse rows."""
        for row in rows:
            self._told = True
            self.results.refuse(row)


def _ordered(rows: Sequence[RefusedRow]) -> list[RefusedRow]:
    return sorted(rows, key=lambda each: each.row)


def _lasts(rows: list[Row], key: tuple[str, ...]) -> list[Row]:
    """Return the last row of each key; all rows where there is no key."""
    return list({row.key: row for row in rows}.values()) if key else rows
