"""A change of a table's row."""

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
"""The operation of a change; `snapshot` is a row that existed when the log began."""


@dataclass(frozen=True)
class Change(Generic[V]):
    """A change of a row; the record's key is the row's key.

    Attributes:
        operation: The operation.
        old: The row before the change; None if it did not exist, or if it is unknown because the
            table's replica identity is not FULL.
        new: The row after the change; None if it was deleted.
        lsn: The position of the transaction's commit in the write-ahead log; for a snapshot, the
            position where the slot began.
        transaction: The number of the transaction; 0 for a snapshot.
    """

    operation: Operation
    old: V | None
    new: V | None
    lsn: int = 0
    transaction: int = 0


class _ChangeSerde(TypedSerde[Change[V]]):
    """JSON of changes; column texts are decoded to the types of their fields."""

    __slots__ = ()
    coding: ClassVar[Coding] = Coding("json", "JSON", msgspec.json.Encoder, msgspec.json.Decoder)


class _RowSerde(TypedSerde[V]):
    """JSON of rows; column texts are decoded to the types of their fields."""

    __slots__ = ()
    coding: ClassVar[Coding] = Coding("json", "JSON", msgspec.json.Encoder, msgspec.json.Decoder)


def row_serde(value: type[V]) -> Serde[V]:
    """Return the serde of plain rows; raises the same errors as `change_serde`."""
    return _RowSerde(value, None, strict=False, enc_hook=None, dec_hook=None)


def change_serde(value: type[V]) -> Serde[Change[V]]:
    """Return the serde of changes of rows, for topics and stores that keep them.

    Args:
        value: The type of a row: a dataclass, `msgspec.Struct` or TypedDict.

    Raises:
        TypeError: JSON cannot be decoded to the type.
    """
    return _ChangeSerde(Change[value], None, strict=False, enc_hook=None, dec_hook=None)  # type: ignore[valid-type]  # as data
