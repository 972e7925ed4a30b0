"""Rows that are staged until the commit, in a separate table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from uuid import uuid4

from psycopg import sql

from kstreams.errors import SinkError
from kstreams.sinks import CommitId
from kstreams_postgres.bulk import BulkWriter, deletion, upsert
from kstreams_postgres.catalog import Table
from kstreams_postgres.connecting import Connection
from kstreams_postgres.fence import claim
from kstreams_postgres.row_making import Row

__all__ = ("publish", "stage")

_OWN = ("kstreams_lane", "kstreams_batch", "kstreams_attempt", "kstreams_part")


def stage(
    connection: Connection, bulk: BulkWriter, table: Table, commit: CommitId, rows: Sequence[Row]
) -> list[str]:
    """Stage an attempt's rows; return one receipt per set of rows with the same columns.

    Staged rows of earlier batches are deleted: they are published, or were never committed.
    """
    lane, attempt = _lane(commit), uuid4().hex
    statement = sql.SQL("DELETE FROM {} WHERE kstreams_lane = %s AND kstreams_batch < %s")
    connection.execute(statement.format(table.staged), (lane, commit.batch))
    parts: dict[tuple[str, ...], list[tuple[object, ...]]] = {}
    for row in rows:
        parts.setdefault(row.names, []).append(row.values if row.names else row.key)
    receipts: list[str] = []
    for number, (names, values) in enumerate(parts.items()):
        first = (lane, commit.batch, attempt, number)
        bulk.stage(table.staged, (*_OWN, *(names or table.key)), ((*first, *v) for v in values))
        receipts.append(json.dumps([attempt, number, list(names)]))
    return receipts


def publish(
    connection: Connection, table: Table, receipts: Mapping[CommitId, Sequence[str]]
) -> None:
    """Move the staged rows of a batch to the table in one transaction; repeated calls do nothing.

    Raises:
        SinkError: A receipt was not written by this sink, or the table now rejects the rows.
        psycopg.Error: The database does not answer, or rejects the statement.
    """
    with connection.transaction():
        table.begin(connection)
        for commit in sorted(receipts, key=lambda each: (each.task, each.order)):
            if claim(connection, table.names, commit) is None:
                for receipt in receipts[commit]:
                    _show(connection, table, commit, receipt)
            statement = sql.SQL("DELETE FROM {} WHERE kstreams_lane = %s AND kstreams_batch <= %s")
            connection.execute(statement.format(table.staged), (_lane(commit), commit.batch))


def _show(connection: Connection, table: Table, commit: CommitId, receipt: str) -> None:
    attempt, part, names = _read(receipt, table)
    where = sql.SQL(
        "kstreams_lane = {} AND kstreams_batch = {} AND kstreams_attempt = {} "
        "AND kstreams_part = {}"
    ).format(_lane(commit), commit.batch, attempt, part)
    of_part = sql.SQL("WHERE {}").format(where)
    if not table.key:
        listed = sql.SQL(", ").join(map(sql.Identifier, names))
        statement = sql.SQL("INSERT INTO {} ({names}) SELECT {names} FROM {} {}").format(
            table.target, table.staged, of_part, names=listed
        )
    elif names:
        statement = upsert(table, table.staged, names, of_part)
    else:
        statement = deletion(table, table.staged, where)
    connection.execute(statement)


def _read(receipt: str, table: Table) -> tuple[str, int, list[str]]:
    try:
        attempt, part, names = json.loads(receipt)
        known = isinstance(names, list) and all(name in table.columns for name in names)
    except (ValueError, TypeError):
        attempt, part, names, known = "", 0, [], False
    if not known or not isinstance(attempt, str) or not isinstance(part, int):
        raise SinkError(
            f"the staged rows {receipt!r} do not fit table {table.names.table!r}",
            hint="restore the columns that the table had when the rows were staged, and start "
            "the app again.",
        )
    return attempt, part, names


def _lane(commit: CommitId) -> str:
    """Return the id of a commit's epoch, sink and task, which all batches of the task share."""
    return json.dumps([commit.epoch, commit.sink, commit.task])
