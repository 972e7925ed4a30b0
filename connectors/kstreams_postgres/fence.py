"""The fence: the last commit of a task, stored in the same transaction as the rows."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Sequence
from typing import Any

from psycopg import sql

from kstreams import Record
from kstreams.errors import SinkError
from kstreams.sinks import CommitId, RefusedRow
from kstreams_postgres.catalog import Names
from kstreams_postgres.connecting import Connection

__all__ = ("claim", "note")

_LOG = logging.getLogger(__name__.replace("_", ".", 1))

_CLAIM = """
INSERT INTO {} AS fence (epoch, sink, task, batch_number, revision, fingerprint, rejected)
VALUES (%s, %s, %s, %s, %s, %s, '[]')
ON CONFLICT (epoch, sink, task) DO UPDATE
SET batch_number = excluded.batch_number, revision = excluded.revision,
    fingerprint = excluded.fingerprint, rejected = excluded.rejected
WHERE (fence.batch_number, fence.revision) < (excluded.batch_number, excluded.revision)
RETURNING 1
"""
_FIND = """
SELECT batch_number, revision, fingerprint, rejected FROM {}
WHERE (epoch, sink, task) = (%s, %s, %s)
"""
_NOTE = "UPDATE {} SET rejected = %s WHERE (epoch, sink, task) = (%s, %s, %s)"


def claim(connection: Connection, names: Names, commit: CommitId) -> list[RefusedRow] | None:
    """Move the fence to a commit and lock it until the transaction ends.

    Other attempts of the same task wait here. Two transactions never write one commit.

    Returns:
        None if the commit was not written before. Otherwise the rows that were rejected then; an
        empty list if the commit is older than the last written one.
    """
    place = (commit.epoch, commit.sink, commit.task)
    fence = names.fence_beside_parameters
    claimed = connection.execute(
        sql.SQL(_CLAIM).format(fence), (*place, *commit.order, commit.fingerprint)
    ).fetchone()
    if claimed is not None:
        return None
    found = connection.execute(sql.SQL(_FIND).format(fence), place).fetchone()
    if found is None or (found[0], found[1]) != commit.order:
        _LOG.warning("commit %s is older than the fence and is not written", commit)
        return []
    if found[2] != commit.fingerprint:
        _LOG.warning(
            "commit %s was written by another topology (%s) and stays unchanged; the results of "
            "this topology (%s) are not written",
            commit,
            found[2],
            commit.fingerprint,
        )
    return _from_text(found[3])


def note(
    connection: Connection, names: Names, commit: CommitId, refused: Sequence[RefusedRow]
) -> None:
    """Store rejected rows with the fence, so that a repeated commit rejects them again."""
    statement = sql.SQL(_NOTE).format(names.fence_beside_parameters)
    connection.execute(statement, (_to_text(refused), commit.epoch, commit.sink, commit.task))


def _to_text(rows: Sequence[RefusedRow]) -> str:
    """Return rows as JSON, without characters that a text column cannot store."""
    return json.dumps(
        [
            [
                row.row,
                row.reason,
                row.code,
                _coded(row.letter.key),
                _coded(row.letter.value),
                row.letter.timestamp,
                [[name, _coded(value)] for name, value in row.letter.headers],
            ]
            for row in rows
        ]
    )


def _from_text(text: str) -> list[RefusedRow]:
    try:
        return [_row(*found) for found in json.loads(text)]
    except (ValueError, TypeError) as exc:
        raise SinkError(
            f"the rejected rows in the fence table cannot be read: {exc}",
            hint="only the library may write to the fence table.",
        ) from exc


def _row(
    number: int,
    reason: str,
    code: str,
    key: str | None,
    value: str | None,
    timestamp: int,
    headers: list[list[Any]],
) -> RefusedRow:
    pairs = tuple((str(name), _decoded(has)) for name, has in headers)
    letter = Record(_decoded(key), _decoded(value), int(timestamp), pairs)
    return RefusedRow(int(number), str(reason), letter, str(code))


def _coded(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
