"""Conversion of stream entries to records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from kstreams_redis.numbering import EntryId

__all__ = ("Entry", "EntryForm")

_SHOWN = 80
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass(frozen=True)
class Entry:
    """An entry and its offset in the log.

    Attributes:
        offset: The offset.
        id: The server's id.
        fields: Alternating names and values.
    """

    offset: int
    id: EntryId
    fields: Sequence[bytes]

    @property
    def size(self) -> int:
        """The size in bytes."""
        return sum(map(len, self.fields))


@dataclass(frozen=True)
class EntryForm:
    """The conversion of entries to records.

    Attributes:
        key_field: The field with the key; None if keys are null.
        value_field: The field with the value; all other fields are headers. None if the value is a
            JSON object of all fields except the key.
    """

    key_field: str | None
    value_field: str | None

    def table(self, entries: Sequence[Entry]) -> pa.Table:
        """Return the records of entries in the Arrow table of a `LogReader`."""
        found = [self._record(entry.fields) for entry in entries]
        columns = {
            "offset": pa.array([entry.offset for entry in entries], pa.int64()),
            "timestamp": pa.array([entry.id.ms for entry in entries], pa.int64()),
            "key": pa.array([record.key for record in found], pa.binary()),
            "value": pa.array([record.value for record in found], pa.binary()),
            "headers": pa.array([record.headers or None for record in found], _HEADERS),
        }
        if any(record.wrong for record in found):
            columns["unreadable"] = pa.array([record.wrong for record in found], pa.string())
        return pa.table(columns)

    def _record(self, fields: Sequence[bytes]) -> _Record:
        names = fields[::2]
        if len({*names}) < len(names):
            twice = min(name for name in names if names.count(name) > 1)
            return _Record(wrong=f"the entry has several fields {_shown(twice)}")
        try:
            named = {name.decode(): value for name, value in zip(names, fields[1::2], strict=True)}
        except UnicodeDecodeError:
            return _Record(wrong="the entry has a field whose name is not UTF-8")
        key = None
        if self.key_field is not None:
            if self.key_field not in named:
                return _Record(wrong=f"the entry has no field {self.key_field!r}, the key")
            key = named.pop(self.key_field)
        if self.value_field is None:
            try:
                texts = {name: value.decode() for name, value in named.items()}
            except UnicodeDecodeError:
                return _Record(wrong="the entry has a field whose value is not UTF-8")
            return _Record(key, json.dumps(texts, ensure_ascii=False).encode())
        if self.value_field not in named:
            return _Record(wrong=f"the entry has no field {self.value_field!r}, the value")
        value = named.pop(self.value_field)
        return _Record(key, value, [{"key": name, "value": part} for name, part in named.items()])


@dataclass(frozen=True)
class _Record:
    """The key, value and headers of an entry; `wrong` is set if the entry has no valid record."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Sequence[dict[str, str | bytes]] = ()
    wrong: str | None = None


def _shown(name: bytes) -> str:
    return repr(name.decode(errors="backslashreplace")[:_SHOWN])
