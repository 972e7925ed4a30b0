"""Write a task's results of a batch, many rows in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from typing_extensions import override

from kstreams.sinks import CommitId, RefusedRow, Results, Writer
from kstreams_cassandra.cluster import Database
from kstreams_cassandra.epochs import base_of, timestamp_of
from kstreams_cassandra.rows import Columns, Row, RowMaker, quoted
from kstreams_cassandra.schema import Names, columns_of
from kstreams_cassandra.sdk import BoundStatement, PreparedStatement, errors, execute_concurrent
from kstreams_rows.encoding import Change, in_rounds, made
from kstreams_rows.refusing import Refusals, reason_of, refused

__all__ = ("TableWriter",)

K = TypeVar("K")
"""Type of the results' keys."""
V = TypeVar("V")
"""Type of the results' values."""

_Numbered = tuple[int, Change[tuple[object, ...], Row]]

_AT_ONCE = 100
_MOST_FORMS = 1_000
"""The maximum number of cached statements, one per set of columns."""
_NOT_BOUND = (TypeError, ValueError, OverflowError, AttributeError, KeyError)
"""The exceptions the driver raises for values that do not fit their column."""


class TableWriter(Writer[K, V]):
    """A `Writer` with its own session.

    Args:
        database: The cluster.
        names: The names of the tables.
        key: The columns of the primary key.
        row: Builds the columns of a row.
    """

    def __init__(
        self,
        database: Database,
        names: Names,
        key: tuple[str, ...],
        row: Callable[[K, V], Columns | None],
    ) -> None:
        self._database = database
        self._names = names
        self._key = key
        self._row = row
        self._maker: RowMaker | None = None
        self._epoch: tuple[str, int] = ("", 0)
        self._statements: tuple[object, dict[tuple[str, ...], PreparedStatement]] = (None, {})

    @override
    def write(self, results: Results[K, V], commit: CommitId) -> Sequence[str]:
        records = results.records()
        maker = self._database.retried(self._made)
        found, wrong = made(records, maker.change)
        timestamp = self._database.retried(lambda: self._timestamp(commit)) if found else 0
        bound = self._database.retried(lambda: self._bound(found, timestamp))
        bad = {number: each for number, each in bound if isinstance(each, Exception)}
        wrong += [refused(n, records[n], reason_of(error)) for n, error in bad.items()]
        refusals = Refusals(results, "Cassandra")
        refusals.reject(_ordered(wrong))
        good = [row for row in found if row[0] not in bad]
        said = in_rounds(
            good, lambda rows: self._database.retried(lambda: self._written(rows, timestamp))
        )
        refusals.reject(
            _ordered(refused(n, records[n], str(e), type(e).__name__) for n, e in said.items())
        )
        return ()

    @override
    def close(self) -> None:
        self._database.close()

    def _written(
        self, rows: Sequence[_Numbered], timestamp: int
    ) -> dict[int, errors.InvalidRequest]:
        """Write rows; return, by row number, the errors of rows that the cluster rejects."""
        bound = self._bound(rows, timestamp)
        done: Any = execute_concurrent(
            self._database.session,
            [(statement, ()) for _, statement in bound],
            concurrency=_AT_ONCE,
            raise_on_first_error=False,
        )
        said: dict[int, errors.InvalidRequest] = {}
        for (number, _), (ok, answer) in zip(bound, done, strict=True):
            if ok:
                continue
            if not isinstance(answer, errors.InvalidRequest):
                raise answer
            said[number] = answer
        return said

    def _bound(
        self, rows: Sequence[_Numbered], timestamp: int
    ) -> list[tuple[int, BoundStatement | Exception]]:
        """Return, by row number, the statement of each row, or the exception of an invalid row."""
        found: list[tuple[int, BoundStatement | Exception]] = []
        for number, change in rows:
            row = change.row
            statement = self._statement(row.names if row else ())
            try:
                given = (*row.values, timestamp) if row else (timestamp, *change.key)
                found.append((number, statement.bind(given)))
            except _NOT_BOUND as exc:
                found.append((number, exc))
        return found

    def _statement(self, names: tuple[str, ...]) -> PreparedStatement:
        """Return the statement that writes rows with these columns; without columns, a delete."""
        session = self._database.session
        if self._statements[0] is not session or len(self._statements[1]) > _MOST_FORMS:
            self._statements = session, {}
        known = self._statements[1]
        if names not in known:
            table = f"{quoted(self._names.keyspace)}.{quoted(self._names.table)}"
            if names:
                listed, marks = ", ".join(map(quoted, names)), ", ".join("?" * len(names))
                text = f"INSERT INTO {table} ({listed}) VALUES ({marks}) USING TIMESTAMP ?"  # noqa: S608
            else:
                where = " AND ".join(f"{quoted(name)} = ?" for name in self._key)
                text = f"DELETE FROM {table} USING TIMESTAMP ? WHERE {where}"  # noqa: S608
            known[names] = session.prepare(text)
        return known[names]

    def _timestamp(self, commit: CommitId) -> int:
        if self._epoch[0] != commit.epoch:
            names = self._names
            base = base_of(self._database, names.keyspace, names.epochs, names.table, commit.epoch)
            self._epoch = commit.epoch, base
        return timestamp_of(self._epoch[1], commit)

    def _made(self) -> RowMaker:
        if self._maker is None:
            columns = columns_of(self._database, self._names, self._key)
            self._maker = RowMaker(self._key, columns, self._row)
        return self._maker


def _ordered(rows: Iterable[RefusedRow]) -> list[RefusedRow]:
    return sorted(rows, key=lambda each: each.row)
