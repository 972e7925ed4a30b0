"""Reads rows of a polled table in a worker."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from psycopg import sql

from kstreams import Serde
from kstreams.errors import DataLossError
from kstreams.sources import Piece
from kstreams_postgres.change_rows import ChangeRow, RowForm, table_of
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.poll import PollNames, time_of
from kstreams_postgres.poll_contents import PollPlace
from kstreams_postgres.slot import table_name
from kstreams_postgres.table_check import described_table

__all__ = ("PollReader",)

_AT_ONCE = 10_000


class PollReader:
    """Implements `kstreams.log.LogReader`.

    Args:
        database: The database of the table.
        names: The names of the table and its columns.
        key: The serde of the keys.
        wanted: The columns that values contain; None for all.
    """

    def __init__(
        self, database: Database, names: PollNames, key: Serde[Any], wanted: frozenset[str] | None
    ) -> None:
        self._database = database
        self._names = names
        self._key = key
        self._wanted = wanted
        self._columns: tuple[str, ...] = ()

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a piece.

        Raises:
            DataLossError: The number of rows has changed since the piece was planned.
            SourceUnavailableError: The database does not answer.
            SourceError: The table or the state of the log does not match the plan.
        """
        place = PollPlace.parse(piece.place)
        rows = self._database.retried(lambda c: self._rows(c, place, piece, max_bytes))
        return table_of(rows, self._key)

    def _rows(
        self, connection: Connection, place: PollPlace, piece: Piece, max_bytes: int
    ) -> list[ChangeRow]:
        if not self._columns:
            _, self._columns = described_table(connection, self._names.table, frozenset())
        rows, size, start = list[ChangeRow](), 0, piece.start
        while start < piece.stop and size <= max_bytes:
            stop = min(start + _AT_ONCE, piece.stop)
            for row in self._some(connection, place, start, stop):
                rows.append(row)
                size += len(row.value)
            start = stop
        return rows

    def _some(
        self, connection: Connection, place: PollPlace, start: int, stop: int
    ) -> list[ChangeRow]:
        names = self._names
        query = sql.SQL(
            "SELECT count(*) OVER (), {ms}, t.* FROM {table} t WHERE {rows} ORDER BY {order} "
            "OFFSET {skipped} LIMIT {count}"
        ).format(
            ms=time_of(names),
            table=table_name(names.table),
            rows=names.between(place.low, place.high),
            order=names.order(self._columns),
            skipped=sql.Literal(start - place.first),
            count=sql.Literal(stop - start),
        )
        found = connection.execute(query).pgresult
        count = 0 if found is None or not found.ntuples else int(found.get_value(0, 0) or 0)
        if found is None or count != place.stop - place.first:
            raise DataLossError(
                f"planned rows of table {names.table!r} were deleted or changed: expected "
                f"{place.stop - place.first} rows, found {count}",
                hint="a polled table must be append-only; delete rows only some batches after the "
                "app has committed them. forget() the log and reset the app.",
            )
        columns = range(2, found.nfields)
        form = RowForm(
            [(found.fname(n) or b"").decode() for n in columns],
            [found.ftype(n) for n in columns],
            self._columns,
            self._wanted,
        )
        rows: list[ChangeRow] = []
        for row in range(found.ntuples):
            time = found.get_value(row, 1)
            cells = [found.get_value(row, n) for n in columns]
            made = form.plain(start + row, int(time or 0), cells)
            if time is None:
                made = made._replace(unreadable=f"column {names.time!r}, the time, is null")
            rows.append(made)
        return rows

    def close(self) -> None:
        """Close the connection."""
        self._database.close()
