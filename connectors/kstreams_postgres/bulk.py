"""Bulk writes, and the search for the rows that cannot be written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from operator import attrgetter
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from kstreams.sinks import RefusedRow
from kstreams_postgres.catalog import Table
from kstreams_postgres.connecting import Connection, code_of, may_pass
from kstreams_postgres.row_making import Row, refused

__all__ = ("BulkWriter", "deletion", "upsert")

_INCOMING = sql.Identifier("pg_temp", "kstreams_rows")
_ALL = sql.SQL("")
_TRUE = sql.SQL("true")
_OF_ROWS = ("22", "23", "44")
"""SQLSTATE classes of errors of single rows: data, constraints, a view's check."""
_ALSO_OF_ROWS = ("21000", "54000", "P0001")
"""Further SQLSTATEs of rows: duplicate keys, a key too long for its index, a trigger's error."""
_ROW_ERRORS = (TypeError, ValueError, OverflowError, AttributeError, ArithmeticError)
"""The exceptions psycopg raises for values that do not fit the column."""

_NONE = type(None)
_NATURAL: dict[int, frozenset[type]] = {
    16: frozenset({bool, _NONE}),
    17: frozenset({bytes, _NONE}),
    20: frozenset({int, _NONE}),
    21: frozenset({int, _NONE}),
    23: frozenset({int, _NONE}),
    25: frozenset({str, _NONE}),
    701: frozenset({float, _NONE}),
    1043: frozenset({str, _NONE}),
    1082: frozenset({date, _NONE}),
    1184: frozenset({datetime, _NONE}),
    1700: frozenset({Decimal, _NONE}),
    2950: frozenset({UUID, _NONE}),
}
"""Python types of binary columns, by oid: bool, bytea, int8, int2, int4, text, float8, varchar,
date, timestamptz, numeric and uuid."""
_JSON = frozenset({114, 3802})
"""Oids of json and jsonb."""
_BITS = {20: 63, 21: 15, 23: 31}
"""Value bits of integer types, by oid; psycopg truncates larger values in binary mode."""


class BulkWriter:
    """Writes rows in a transaction: copies them to a temporary table, then to the table.

    Args:
        connection: The connection; its temporary table is created here, once.
        table: The table.
    """

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection = connection
        self._table = table
        self._binary = True
        self._used = False
        connection.execute(
            sql.SQL(
                "CREATE TEMP TABLE IF NOT EXISTS kstreams_rows ON COMMIT DELETE ROWS "
                "AS SELECT * FROM {} WITH NO DATA"
            ).format(table.target)
        )

    def write(self, rows: Sequence[Row]) -> list[RefusedRow]:
        """Write rows in the current transaction; return the rejected rows.

        With a key, the last row of each key is written; if it is rejected, the one before it.

        Raises:
            psycopg.Error: The database does not answer, or its schema has changed.
        """
        self._binary, self._used = True, False
        if not self._table.key:
            return [self._refused_row(row, exc) for row, exc in self._apart(rows, self._append)]
        by_key: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            by_key.setdefault(row.key, []).append(row)
        found: list[RefusedRow] = []
        while by_key:
            lasts = [own[-1] for own in by_key.values()]
            bad = self._apart(lasts, self._replace)
            found += [self._refused_row(row, exc) for row, exc in bad]
            left = {row.key: by_key[row.key][:-1] for row, _ in bad}
            by_key = {key: own for key, own in left.items() if own}
        return found

    def stage(
        self, into: sql.Identifier, names: Sequence[str], rows: Iterable[Sequence[object]]
    ) -> None:
        """Copy rows to a table of staged rows; all must be valid."""
        self._copy(into, names, rows)

    def _copy(
        self,
        into: sql.Identifier,
        names: Sequence[str],
        rows: Iterable[Sequence[object]],
    ) -> None:
        found, oids = list(rows), [self._oid(name) for name in names]
        binary = self._binary and _are_natural(oids, found)
        if not binary:
            found = _with_json(oids, found)
        statement = sql.SQL("COPY {} ({}) FROM STDIN {}").format(
            into, _listed(names), sql.SQL("(FORMAT BINARY)" if binary else "")
        )
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            if binary:
                copy.set_types(oids)
            write = copy.write_row
            for row in found:
                write(row)

    def _oid(self, name: str) -> int:
        known = self._table.columns.get(name)
        return 0 if known is None else known.oid

    def _apart(
        self, rows: Sequence[Row], write: Callable[[Sequence[Row]], None]
    ) -> list[tuple[Row, Exception]]:
        """Write rows, and return the rows that cannot be written.

        If the write fails because of a row, the rows are divided in halves until the row is found.
        """
        if not rows:
            return []
        try:
            with self._connection.transaction():
                write(rows)
        except (psycopg.Error, *_ROW_ERRORS) as exc:
            if not _is_rows(exc):
                raise
            if len(rows) == 1:
                if not self._binary or not _is_clients(exc):
                    return [(rows[0], exc)]
                try:
                    self._binary = False  # the server says more than psycopg
                    return self._apart(rows, write)
                finally:
                    self._binary = True
        else:
            return []
        half = len(rows) // 2
        return self._apart(rows[:half], write) + self._apart(rows[half:], write)

    def _append(self, rows: Sequence[Row]) -> None:
        for names, own in groupby(rows, attrgetter("names")):
            self._copy(self._table.target, names, [row.values for row in own])

    def _replace(self, rows: Sequence[Row]) -> None:
        deleted = [row.key for row in rows if not row.names]
        by_names: dict[tuple[str, ...], list[tuple[object, ...]]] = {}
        for row in rows:
            if row.names:
                by_names.setdefault(row.names, []).append(row.values)
        if deleted:
            self._through(self._table.key, deleted, deletion(self._table, _INCOMING))
        for names, values in by_names.items():
            self._through(names, values, upsert(self._table, _INCOMING, names))

    def _through(
        self, names: Sequence[str], rows: Sequence[Sequence[object]], then: sql.Composed
    ) -> None:
        """Copy rows to the temporary table, and execute a statement on it."""
        if self._used:
            self._connection.execute(sql.SQL("TRUNCATE {}").format(_INCOMING))
        self._used = True
        self._copy(_INCOMING, names, rows)
        self._connection.execute(then)

    def _refused_row(self, row: Row, exc: Exception) -> RefusedRow:
        reason = str(exc) or type(exc).__name__
        if isinstance(exc, psycopg.Error) and exc.diag.message_primary:
            reason = exc.diag.message_primary
        return refused(row, self._table.key, reason, code_of(exc))


def upsert(
    table: Table,
    source: sql.Identifier,
    names: Sequence[str],
    where: sql.Composable = _ALL,
) -> sql.Composed:
    """Return the statement that upserts the rows of another table, in the order of their keys.

    All tasks use the same order, so they do not deadlock.

    Args:
        table: The table to write to.
        source: The table to read from.
        names: The columns, including the key.
        where: The condition of the rows.
    """
    values = [name for name in names if name not in table.key]
    changed = sql.SQL(", ").join(
        sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in values
    )
    clash = sql.SQL("DO UPDATE SET {}").format(changed) if values else sql.SQL("DO NOTHING")
    return sql.SQL(
        "INSERT INTO {} ({names}) SELECT {names} FROM {} {} ORDER BY {key} ON CONFLICT ({key}) {}"
    ).format(table.target, source, where, clash, names=_listed(names), key=_listed(table.key))


def deletion(table: Table, source: sql.Identifier, where: sql.Composable = _TRUE) -> sql.Composed:
    """Return the statement that deletes the rows whose keys are in another table.

    Args:
        table: The table to delete from.
        source: The table with the keys; `where` refers to this table as `s`.
        where: The condition of the source's rows.
    """
    same = sql.SQL(" AND ").join(
        sql.SQL("t.{0} = s.{0}").format(sql.Identifier(name)) for name in table.key
    )
    return sql.SQL("DELETE FROM {} t USING {} s WHERE {} AND {}").format(
        table.target, source, where, same
    )


def _are_natural(oids: Sequence[int], rows: Sequence[Sequence[object]]) -> bool:
    """Return whether all values can be sent in binary form: each has exactly its column's type.

    Other values are sent as text for the server to parse, because in binary form psycopg would
    accept any object as a boolean.
    """
    if not all(oid in _NATURAL or oid in _JSON for oid in oids):
        return False
    return all(
        oid in _JSON or (_NATURAL[oid].issuperset(map(type, column)) and _fits(oid, column))
        for oid, column in zip(oids, zip(*rows, strict=True), strict=True)
    )


def _fits(oid: int, column: Sequence[object]) -> bool:
    """Return whether a column's integers are in the range of its type."""
    if oid not in _BITS:
        return True
    bound = 1 << _BITS[oid]
    numbers = [number for number in column if isinstance(number, int)]
    return not numbers or (-bound <= min(numbers) and max(numbers) < bound)


def _with_json(oids: Sequence[int], rows: list[Sequence[object]]) -> list[Sequence[object]]:
    """Return rows in which values of JSON columns are encoded as JSON text."""
    if not _JSON.intersection(oids):
        return rows
    return [
        [
            Jsonb(value) if oid in _JSON and value is not None else value
            for oid, value in zip(oids, row, strict=True)
        ]
        for row in rows
    ]


def _listed(names: Iterable[str]) -> sql.Composed:
    return sql.SQL(", ").join(map(sql.Identifier, names))


def _is_clients(exc: BaseException) -> bool:
    """Return whether psycopg, before sending a value, rejected it as not adaptable."""
    if isinstance(exc, psycopg.Error):
        return not code_of(exc) and not may_pass(exc)
    return True


def _is_rows(exc: BaseException) -> bool:
    """Return whether an error is caused by one of the rows."""
    code = code_of(exc)
    return _is_clients(exc) or code[:2] in _OF_ROWS or code in _ALSO_OF_ROWS
