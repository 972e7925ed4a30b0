"""What has happened to a row of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Generic, Literal, TypeVar

import msgspec

from kstreams import Serde
from kstreams_msgspec import Coding, TypedSerde

__all__ = ("Change", "Operation", "change_serde", "row_serde")

V = TypeVar("V")
"""Type of the rows."""

Operation = Literal["snapshot", "insert", "update", "delete"]
"""What was done; `snapshot` is a row that was there when the log began."""


@dataclass(frozen=True)
class Change(Generic[V]):
    """A change of a row, which its record's key names.

    Attributes:
        operation: What was done.
        old: The row before; None where it was not there, and where the table's replica identity
            is not FULL, so that it is not known.
        new: The row after; None where it was deleted.
        lsn: Where its transaction committed, in the write-ahead log; of a snapshot, where the
            slot began.
        transaction: Number of its transaction; 0 for a snapshot.
    """

    operation: Operation
    old: V | None
    new: V | None
    lsn: int = 0
    transaction: int = 0


class _ChangeSerde(TypedSerde[Change[V]]):
    """JSON of changes; a column's text is what its field's type makes of it."""

    __slots__ = ()
    coding: ClassVar[Coding] = Coding("json", "JSON", msgspec.json.Encoder, msgspec.json.Decoder)


class _RowSerde(TypedSerde[V]):
    """JSON of rows, likewise."""

    __slots__ = ()
    coding: ClassVar[Coding] = Coding("json", "JSON", msgspec.json.Encoder, msgspec.json.Decoder)


def row_serde(value: type[V]) -> Serde[V]:
    """Return the serde of rows that stand for themselves; raises as `change_serde`."""
    return _RowSerde(value, None, strict=False, enc_hook=None, dec_hook=None)


def change_serde(value: type[V]) -> Serde[Change[V]]:
    """Return the serde of changes of rows, for topics and stores that keep them.

    Args:
        value: Type of a row: a dataclass, `msgspec.Struct` or TypedDict.

    Raises:
        TypeError: It is no type that JSON can be decoded to.
    """
    return _ChangeSerde(Change[value], None, strict=False, enc_hook=None, dec_hook=None)  # type: ignore[valid-type]  # as data
