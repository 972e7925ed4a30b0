"""Tables and sinks of the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import psycopg

from kstreams import Record
from kstreams.sinks import CommitId, RefusedRow
from kstreams_postgres import PostgresTable
from kstreams_testing.sink import GivenResults

__all__ = ("SOON", "Place", "given", "refused_rows", "total_row", "write")

SOON = timedelta(seconds=2)


def total_row(_word: str, total: int | None) -> Mapping[str, object] | None:
    """Make a row of a total; none deletes."""
    return None if total is None else {"total": total}


class Place:
    """A database with tables of a test.

    Args:
        url: Address of the database.
    """

    def __init__(self, url: str) -> None:
        self.url = url

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement; return its rows."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def totals(self, **options: Any) -> PostgresTable[str, Any]:
        """Return a sink to the table `totals`."""
        given: dict[str, Any] = {"key": ("word",), "row": total_row, "give_up_after": SOON}
        return PostgresTable(self.url, "totals", **{**given, **options})

    def rows(self, table: str = "totals") -> list[tuple[Any, ...]]:
        """Return all rows of a table, sorted."""
        return sorted(self.execute("TABLE " + table))


def given(*pairs: tuple[Any, Any], fails: bool = False) -> GivenResults:
    """Return results of pairs of key and value."""
    records = [Record(key, value, 1_000 + n) for n, (key, value) in enumerate(pairs)]
    return GivenResults(records, fails)


def write(
    sink: PostgresTable[Any, Any],
    results: GivenResults,
    batch: int = 0,
    *,
    task: int = 0,
    revision: int = 0,
) -> Sequence[RefusedRow]:
    """Write results as a batch, and publish them; return the refused rows."""
    sink.prepare()
    writer = sink.open()
    commit = CommitId("life", "out", task, batch, revision)
    try:
        receipts = writer.write(results, commit)
    finally:
        writer.close()
    if receipts:
        sink.publish({commit: receipts})
    return results.refused


def refused_rows(rows: Sequence[RefusedRow]) -> list[tuple[int, str]]:
    """Return number and code of refused rows."""
    return [(row.row, row.code) for row in rows]
