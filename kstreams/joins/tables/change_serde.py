"""Serde of changes, as sent over repartition edges."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa

from kstreams.errors import DeserializationError
from kstreams.joins.change import Change
from kstreams.serde.base import Serde
from kstreams.serde.composite import CompositeSerde
from kstreams.serde.objects import objects_of

__all__ = ("ChangeSerde", "change_bytes")

_HEAD = struct.Struct(">BI")
_OLD, _NEW = 1, 2


def change_bytes(old: bytes | None, new: bytes | None) -> bytes:
    """Encode a change from encoded values; None for no value."""
    has = (0 if old is None else _OLD) | (0 if new is None else _NEW)
    return b"".join((_HEAD.pack(has, len(old or b"")), old or b"", new or b""))


class ChangeSerde(CompositeSerde[Change[Any]]):
    """Encodes a change: flags, the length of the old value (u32), and both values.

    Args:
        value: Serde of the values.
    """

    type_token = Change

    def __init__(self, value: Serde[Any]) -> None:
        super().__init__("change", value)
        self._value = value
        self.hashes_by_bytes = False

    def serialize(self, value: Change[Any]) -> bytes:
        """Encode a change."""
        encode = self._value.serialize
        old, new = value.old, value.new
        return change_bytes(
            None if old is None else encode(old), None if new is None else encode(new)
        )

    def deserialize(self, data: bytes) -> Change[Any]:
        """Decode a change. Raises `DeserializationError` if the bytes are truncated."""
        decode = self._value.deserialize
        old, new = _divided(data)
        return Change(None if new is None else decode(new), None if old is None else decode(old))

    def deserialize_many(self, data: pa.Array) -> list[Change[Any] | None]:
        """Decode many changes; their values are decoded in two calls."""
        if data.null_count:
            return super().deserialize_many(data)
        pairs = [_divided(each) for each in objects_of(data)]
        decode, binary = self._value.deserialize_many, pa.binary()
        olds = decode(pa.array([old for old, _ in pairs], binary))
        news = decode(pa.array([new for _, new in pairs], binary))
        return list(map(Change, news, olds))


def _divided(data: bytes) -> tuple[bytes | None, bytes | None]:
    try:
        has, length = _HEAD.unpack_from(data)
    except struct.error as exc:
        raise DeserializationError(
            f"the change of a table row is cut short: {data[:40]!r}"
        ) from exc
    end = _HEAD.size + length
    if len(data) < end:
        raise DeserializationError(f"the change of a table row is cut short: {data[:40]!r}")
    return data[_HEAD.size : end] if has & _OLD else None, data[end:] if has & _NEW else None
