"""Reads a table's changes from a slot in a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql

from kstreams import Serde
from kstreams.errors import DataLossError
from kstreams.sources import Piece
from kstreams_postgres.change_rows import ChangeRow, RowForm, table_of
from kstreams_postgres.connecting import Connection, Database
from kstreams_postgres.pgoutput import (
    BEGIN,
    DELETE,
    INSERT,
    RELATION,
    TRUNCATE,
    UPDATE,
    Begin,
    begin_of,
    relation_id,
    relation_of,
    row_change_of,
    truncated,
)
from kstreams_postgres.slot import (
    SlotNames,
    SlotState,
    changes_query,
    slot_held,
    slot_state,
)
from kstreams_postgres.slot_place import COPY, SlotPlace

__all__ = ("SlotReader",)

_AT_ONCE = 1_000
_TRUNCATED = (
    "the table was truncated, which does not report the deleted rows\nHint: on_error='skip' "
    "continues, and the app keeps its state of these rows; DELETE reports each deleted row."
)
_GONE = (
    "a slot returns each change once: make sure that no other app or client advances or drops it."
)


class SlotReader:
    """Implements `kstreams.log.LogReader`.

    A read that starts where the last one ended reuses the open cursor of that read.

    Args:
        database: The database of the slot.
        names: The names of the slot and its tables.
        key: The serde of the keys.
        wanted: The columns that values contain; None for all.
    """

    def __init__(
        self,
        database: Database,
        names: SlotNames,
        key: Serde[Any],
        wanted: frozenset[str] | None,
    ) -> None:
        self._database = database
        self._names = names
        self._key = key
        self._wanted = wanted
        self._state: tuple[Connection, SlotState] | None = None
        self._open: _OpenPiece | None = None

    def read(self, piece: Piece, *, max_bytes: int) -> pa.Table:
        """Return the records of a piece.

        Raises:
            DataLossError: The slot no longer has the records.
            SourceUnavailableError: The database does not answer.
            SourceError: The slot or the table does not match the plan.
        """
        if piece.place == COPY:
            rows = self._database.retried(lambda c: self._copied(c, piece, max_bytes))
        else:
            place = SlotPlace.parse(piece.place)
            rows = self._database.retried(lambda c: self._changes(c, place, piece, max_bytes))
        return table_of(rows, self._key)

    def close(self) -> None:
        """Close the connection."""
        self._close_piece()
        self._database.close()

    def _of(self, connection: Connection) -> SlotState:
        if self._state is None or self._state[0] is not connection:
            found = slot_state(connection, self._names)
            if found is None:
                raise DataLossError(
                    f"the state of replication slot {self._names.slot!r} was deleted", hint=_GONE
                )
            self._state = connection, found
        return self._state[1]

    def _copied(self, connection: Connection, piece: Piece, max_bytes: int) -> list[ChangeRow]:
        """Return records of a piece of copied rows, which the table had before the slot.

        Reading stops early once the records exceed `max_bytes`.
        """
        state = self._of(connection)
        begin = Begin(state.lsn, state.copied_ms, 0)
        rows, size, start = list[ChangeRow](), 0, piece.start
        while start < piece.stop and size <= max_bytes:
            stop = min(start + _AT_ONCE, piece.stop)
            found = connection.execute(
                sql.SQL(
                    "SELECT * FROM {} WHERE kstreams_offset >= {} AND kstreams_offset < {} "
                    "ORDER BY kstreams_offset"
                ).format(self._names.copy, sql.Literal(start), sql.Literal(stop))
            ).pgresult
            if found is None or found.ntuples != stop - start:
                raise DataLossError(
                    f"copied rows of replication slot {self._names.slot!r} were deleted", hint=_GONE
                )
            columns = range(1, found.nfields)
            names = [(found.fname(n) or b"").decode() for n in columns]
            form = RowForm(names, [found.ftype(n) for n in columns], state.key, self._wanted)
            for row in range(found.ntuples):
                cells = [found.get_value(row, n) for n in columns]
                rows.append(form.copied(start + row, begin, cells))
                size += len(rows[-1].value)
            start = stop
        return rows

    def _changes(
        self, connection: Connection, place: SlotPlace, piece: Piece, max_bytes: int
    ) -> list[ChangeRow]:
        opened = self._open
        if opened is None or not opened.continues_at(connection, place, piece.start):
            self._close_piece()
            state = self._of(connection)
            cursor = connection.cursor("kstreams_changes", withhold=True)
            opened = self._open = _OpenPiece(
                connection, cursor, place, state, self._wanted, self._names.slot
            )
            with slot_held(connection, self._names.slot):
                cursor.execute(changes_query(self._names, place.stop_lsn), binary=True)
        rows = opened.take(piece.start, piece.stop, max_bytes)
        if opened.next >= place.stop:
            self._close_piece()
        return rows

    def _close_piece(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()


class _OpenPiece:
    """A piece that is being read: a cursor over its transactions, whose changes are decoded.

    Attributes:
        next: The next offset.
    """

    def __init__(
        self,
        connection: Connection,
        cursor: psycopg.ServerCursor[Any],
        place: SlotPlace,
        state: SlotState,
        wanted: frozenset[str] | None,
        slot: str,
    ) -> None:
        self._connection = connection
        self._cursor = cursor
        self._place = place
        self._state = state
        self._wanted = wanted
        self._slot = slot
        self._at = self.next = place.first
        self._rows = self._records()
        self._waiting: ChangeRow | None = None

    def continues_at(self, connection: Connection, place: SlotPlace, start: int) -> bool:
        """Return whether the next read can use this cursor, because it continues the last read.

        Args:
            connection: The connection of the next read.
            place: The transactions to read.
            start: The offset of the first record to read.
        """
        return self._connection is connection and self._place == place and self.next == start

    def take(self, start: int, stop: int, max_bytes: int) -> list[ChangeRow]:
        """Return records from `start` to `stop`, fewer if they exceed `max_bytes`.

        Raises:
            DataLossError: The slot does not have the records.
        """
        found: list[ChangeRow] = []
        size = 0
        while size <= max_bytes:
            row = self._waiting or next(self._rows, None)
            self._waiting = None
            if row is None or row.offset >= stop:
                self._waiting, self.next = row, stop
                break
            if row.offset >= start:
                found.append(row)
                size += len(row.value)
            self.next = row.offset + 1
        return found

    def _records(self) -> Iterator[ChangeRow]:
        """Yield the records of the piece, and check that the piece is complete."""
        forms: dict[int, RowForm] = {}
        begin, is_own = Begin(0, 0, 0), False
        start, stop = self._place.start_lsn, self._place.stop_lsn
        for data in self._messages():
            kind = data[0]
            if kind == BEGIN:
                begin = begin_of(data)
                is_own = start <= begin.commit_lsn < stop
            elif kind == RELATION:
                if relation_id(data) == self._state.oid:
                    table = relation_of(data)
                    forms[table.oid] = RowForm.of(table, self._state.key, self._wanted)
            elif is_own:
                yield from self._of_message(kind, data, begin, forms)
        if self._at != self._place.stop:
            raise DataLossError(
                f"replication slot {self._slot!r} no longer has the planned offsets {self._at} "
                f"to {self._place.stop}",
                hint=_GONE,
            )

    def _of_message(
        self, kind: int, data: bytes, begin: Begin, forms: dict[int, RowForm]
    ) -> Iterator[ChangeRow]:
        oid, at = self._state.oid, self._at
        if kind in (INSERT, UPDATE, DELETE) and relation_id(data) == oid:
            self._at += 2 if kind == UPDATE else 1
            for row in forms[oid].changed(begin, kind, row_change_of(data)):
                yield row._replace(offset=at + row.offset)
        elif kind == TRUNCATE and oid in truncated(data):
            self._at += 1
            yield ChangeRow(at, begin.time_ms, None, b"", _TRUNCATED)

    def _messages(self) -> Iterator[bytes]:
        while rows := self._cursor.fetchmany(_AT_ONCE):
            for (data,) in rows:
                yield data

    def close(self) -> None:
        """Close the cursor on the server."""
        self._cursor.close()
