"""Records of a table's changes: keys, values, and unreadable changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from kstreams import Serde
from kstreams.errors import SourceError
from kstreams_postgres.change import Operation
from kstreams_postgres.json_values import ToJson, json_of
from kstreams_postgres.pgoutput import (
    DELETE,
    INSERT,
    UNCHANGED,
    Begin,
    Cell,
    Relation,
    RowChange,
)

__all__ = ("ChangeRow", "RowForm", "required_fields", "table_of", "wanted_fields")


class ChangeRow(NamedTuple):
    """A record before its conversion to Arrow: its key and value as JSON.

    If the change cannot be read, `unreadable` is the reason.
    """

    offset: int
    time_ms: int
    key: bytes | None
    value: bytes
    unreadable: str | None = None


def wanted_fields(type_: object) -> frozenset[str] | None:
    """Return the columns that a row type needs; None if it accepts all columns."""
    fields = _fields(type_)
    return None if fields is None else frozenset(field.encode_name for field in fields)


def required_fields(type_: object) -> frozenset[str]:
    """Return the required columns of a row type: the fields without a default."""
    return frozenset(field.encode_name for field in _fields(type_) or () if field.required)


def _fields(type_: object) -> tuple[msgspec.inspect.Field, ...] | None:
    shape = msgspec.inspect.type_info(type_)
    found: tuple[msgspec.inspect.Field, ...] | None = getattr(shape, "fields", None)
    return found


class RowForm:
    """Builds records from rows with known columns.

    Args:
        names: The names of the columns.
        oids: The type oids of the columns.
        key: The columns of the key, in order.
        wanted: The columns that values contain; None for all.
    """

    def __init__(
        self,
        names: Sequence[str],
        oids: Sequence[int],
        key: Sequence[str],
        wanted: frozenset[str] | None,
    ) -> None:
        self._key = [names.index(name) for name in key if name in names]
        self._has_key = len(self._key) == len(key)
        self._key_names = key
        self._columns: list[tuple[int, str, bytes]] = [
            (place, name, msgspec.json.encode(name) + b":")
            for place, name in enumerate(names)
            if wanted is None or name in wanted
        ]
        self._to_json: list[ToJson] = list(map(json_of, oids))

    @classmethod
    def of(cls, table: Relation, key: Sequence[str], wanted: frozenset[str] | None) -> RowForm:
        """Return the `RowForm` of a table, given its description in the replication stream."""
        names = [column.name for column in table.columns]
        return cls(names, [column.type_oid for column in table.columns], key, wanted)

    def changed(self, begin: Begin, kind: int, change: RowChange) -> Iterator[ChangeRow]:
        """Yield the records of a row's change, with offsets from 0: two if it changes the key.

        Args:
            begin: The begin of the transaction.
            kind: The first byte of the message: `INSERT`, `DELETE` or that of an update.
            change: The change.
        """
        old, new = change.old, change.new
        if new is not None and old is not None and change.whole:
            new = [o if n == UNCHANGED else n for o, n in zip(old, new, strict=True)]
        problem = self._problem(old if new is None else new)
        if problem:
            yield ChangeRow(0, begin.time_ms, None, b"", problem)
            return
        before = old if change.whole else None
        if kind == INSERT:
            yield self._row(begin, "insert", None, new, new)
        elif kind == DELETE:
            yield self._row(begin, "delete", before, None, old)
        elif old is not None and self._json_key(old) != self._json_key(new):
            yield self._row(begin, "delete", before, None, old)
            yield self._row(begin, "insert", None, new, new)._replace(offset=1)
        else:
            yield self._row(begin, "update", before, new, new)

    def copied(self, offset: int, begin: Begin, row: Sequence[Cell]) -> ChangeRow:
        """Return the record of a row that existed before the slot.

        Args:
            offset: The offset of the record.
            begin: The position at which the slot began, and the time of the copy.
            row: The values of the columns.
        """
        return self._row(begin, "snapshot", None, row, row)._replace(offset=offset)

    def plain(self, offset: int, time_ms: int, row: Sequence[Cell]) -> ChangeRow:
        """Return the record of a row of a polled table."""
        return ChangeRow(offset, time_ms, self._json_key(row), self._object(row))

    def _problem(self, row: Sequence[Cell] | None) -> str:
        if row is None or not self._has_key or any(row[place] is None for place in self._key):
            return (
                f"the change does not identify its row: the key of the log is "
                f"{', '.join(self._key_names)}, and the table's replica identity does not "
                f"include it"
            )
        missing = [name for place, name, _ in self._columns if row[place] == UNCHANGED]
        if missing:
            return (
                f"column {missing[0]!r} was not changed and is stored out of line (TOAST), so "
                f"the write-ahead log does not contain it\nHint: ALTER TABLE ... REPLICA IDENTITY "
                "FULL, or leave the column out of the type."
            )
        return ""

    def _row(
        self,
        begin: Begin,
        operation: Operation,
        old: Sequence[Cell] | None,
        new: Sequence[Cell] | None,
        keyed: Sequence[Cell] | None,
    ) -> ChangeRow:
        value = b'{"operation":"%s","old":%s,"new":%s,"lsn":%d,"transaction":%d}' % (
            operation.encode(),
            self._object(old),
            self._object(new),
            begin.commit_lsn,
            begin.transaction,
        )
        return ChangeRow(0, begin.time_ms, self._json_key(keyed), value)

    def _object(self, row: Sequence[Cell] | None) -> bytes:
        if row is None:
            return b"null"
        found = (label + self._json(place, row[place]) for place, _, label in self._columns)
        return b"{" + b",".join(found) + b"}"

    def _json_key(self, row: Sequence[Cell] | None) -> bytes | None:
        if row is None:
            return None
        cells = [self._json(place, row[place]) for place in self._key]
        return cells[0] if len(cells) == 1 else b"[" + b",".join(cells) + b"]"

    def _json(self, place: int, cell: Cell) -> bytes:
        return b"null" if cell is None else self._to_json[place](cell)


def table_of(rows: Sequence[ChangeRow], key: Serde[Any]) -> pa.Table:
    """Return records in the Arrow table of a `LogReader`.

    Raises:
        SourceError: A key does not match the type of the serde.
    """
    decoder = msgspec.json.Decoder(_key_type(key), strict=False)
    try:
        keys = [None if row.key is None else decoder.decode(row.key) for row in rows]
        data = key.serialize_many(keys)
    except (ValueError, TypeError) as exc:
        raise SourceError(
            f"the primary key does not fit the log's key serde {key.name}: {exc}",
            hint="give the log a key serde of the column's type, such as INT64 or TEXT, or a "
            "serde of tuples if the primary key has several columns.",
        ) from exc
    columns = {
        "offset": pa.array([row.offset for row in rows], pa.int64()),
        "timestamp": pa.array([row.time_ms for row in rows], pa.int64()),
        "key": data,
        "value": pa.array([row.value for row in rows], pa.binary()),
        "headers": pa.nulls(len(rows)),
    }
    if any(row.unreadable for row in rows):
        columns["unreadable"] = pa.array([row.unreadable for row in rows], pa.string())
    return pa.table(columns)


def _key_type(key: Serde[Any]) -> object:
    return Any if key.type_token is object else key.type_token
