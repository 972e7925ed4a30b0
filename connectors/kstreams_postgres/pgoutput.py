"""Parsing of messages of PostgreSQL's plugin `pgoutput`, protocol 1, without state.

Source: https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final, NamedTuple

__all__ = (
    "BEGIN",
    "DELETE",
    "INSERT",
    "RELATION",
    "TRUNCATE",
    "UNCHANGED",
    "UPDATE",
    "Begin",
    "Cell",
    "Relation",
    "RelationColumn",
    "RowChange",
    "begin_of",
    "commit_of",
    "relation_id",
    "relation_of",
    "row_change_of",
    "truncated",
)

BEGIN, INSERT, UPDATE, DELETE, TRUNCATE, RELATION = b"BIUDTR"

UNCHANGED: Final = b"\x00"
"""Marks an unchanged value that is stored out of line, and so is missing in the log."""

Cell = bytes | None
"""A value as text, None for null, or `UNCHANGED`; no text has a zero byte."""

_HEAD = Struct(">qqI")
_END = Struct(">Bqqq")
_INT16, _INT32 = Struct(">H"), Struct(">I")
_EPOCH_MS = 946_684_800_000
"""2000-01-01, PostgreSQL's epoch, in ms since the Unix epoch."""


class Begin(NamedTuple):
    """The begin of a transaction: the position and time of its commit, and its number."""

    commit_lsn: int
    time_ms: int
    transaction: int


class RelationColumn(NamedTuple):
    """A column at the time of the change: name, type oid, and whether it identifies rows."""

    name: str
    type_oid: int
    identifies: bool


@dataclass(frozen=True)
class Relation:
    """The description of a table at the time of a change; `oid` is that of the table."""

    oid: int
    columns: tuple[RelationColumn, ...]


class RowChange(NamedTuple):
    """A row of a table before the change, if known, and after it.

    Attributes:
        oid: The oid of the table.
        old: The values before the change. If `whole` is false, only the identifying values are set
            and the others are null. None if not sent.
        new: The values after the change; None for a deletion.
        whole: Whether `old` has all values.
    """

    oid: int
    old: Sequence[Cell] | None
    new: Sequence[Cell] | None
    whole: bool


def begin_of(data: bytes) -> Begin:
    """Parse the message at the start of a transaction."""
    lsn, time_us, xid = _HEAD.unpack_from(data, 1)
    return Begin(lsn, _ms(time_us), xid)


def commit_of(data: bytes) -> tuple[int, int, int]:
    """Parse the message at the end of a transaction: LSN of the commit, LSN after it, and time."""
    _, lsn, end, time_us = _END.unpack_from(data, 1)
    return lsn, end, _ms(time_us)


def _ms(time_us: int) -> int:
    return int(time_us // 1000) + _EPOCH_MS


def relation_id(data: bytes) -> int:
    """Return the oid of the table in a message with a row change or a table description."""
    return int(_INT32.unpack_from(data, 1)[0])


def relation_of(data: bytes) -> Relation:
    """Parse the description of a table."""
    at = data.index(b"\0", data.index(b"\0", 5) + 1) + 2
    (count,) = _INT16.unpack_from(data, at)
    at += 2
    columns: list[RelationColumn] = []
    for _ in range(count):
        end = data.index(b"\0", at + 1)
        (oid,) = _INT32.unpack_from(data, end + 1)
        columns.append(RelationColumn(data[at + 1 : end].decode(), oid, bool(data[at] & 1)))
        at = end + 9
    return Relation(relation_id(data), tuple(columns))


def row_change_of(data: bytes) -> RowChange:
    """Parse the insertion, update or deletion of a row."""
    kind, at = data[5], 5
    old: list[Cell] | None = None
    if kind in b"KO":
        old, at = _row(data, 6)
    if data[0] == DELETE:
        return RowChange(relation_id(data), old, None, kind == ord("O"))
    new, _ = _row(data, at + 1)
    return RowChange(relation_id(data), old, new, kind == ord("O"))


def _row(data: bytes, at: int) -> tuple[list[Cell], int]:
    """Parse the values of a row; return the values and the offset after them."""
    (count,) = _INT16.unpack_from(data, at)
    at += 2
    cells: list[Cell] = []
    for _ in range(count):
        kind = data[at]
        at += 1
        if kind == ord("t"):
            (size,) = _INT32.unpack_from(data, at)
            cells.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        else:
            cells.append(UNCHANGED if kind == ord("u") else None)
    return cells, at


def truncated(data: bytes) -> tuple[int, ...]:
    """Return the oids of the tables of a TRUNCATE message."""
    (count,) = _INT32.unpack_from(data, 1)
    return tuple(_INT32.unpack_from(data, 6 + 4 * n)[0] for n in range(count))
