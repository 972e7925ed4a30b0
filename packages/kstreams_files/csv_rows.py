"""CSV files whose first row has the column names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeVar

import pyarrow as pa

from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams.serde.csv_columns import CsvColumn, columns_of
from kstreams.serde.csv_fields import divided, has_more_fields
from kstreams.serde.csv_row import csv_row
from kstreams.serde.none import NONE
from kstreams_files.files import FileData
from kstreams_files.format import Rows
from kstreams_files.text_records import MAX_RECORD_BYTES, TextRecords, record_ends

__all__ = ("Csv",)

V = TypeVar("V")
"""Type of the rows."""

_MAX_HEAD_BYTES = 64 * 1024
_SHOWN = 200


@dataclass(frozen=True)
class Csv(TextRecords[None, V]):
    """The format of CSV files: each row after the first is an object; keys are null.

    Files follow RFC 4180, in UTF-8. The first row has the column names: fields of the type are
    matched by name, in any order, and other columns are ignored. A field without a column needs a
    default. A row with another number of fields than the first row cannot be decoded; an empty line
    is dropped and counted as a null value. Errors number the rows after the header from 1, as
    `record`.

    Args:
        type_: As for `csv_row`.
        delimiter: The delimiter of fields: one ASCII character.
        max_record_bytes: A file with a longer row cannot be read.
    """

    type_: type[V]
    delimiter: str = ","
    max_record_bytes: int = MAX_RECORD_BYTES
    key: Serde[None] = field(default=NONE, init=False)
    value: Serde[V] = field(init=False, compare=False)
    quoted: bool = field(default=True, init=False)
    name: str = field(default="csv", init=False)

    def __post_init__(self) -> None:
        """Create the serde; raises the errors of `csv_row`."""
        object.__setattr__(self, "value", csv_row(self.type_, delimiter=self.delimiter))

    @property
    def _columns(self) -> tuple[CsvColumn, ...]:
        return columns_of(self.type_)

    def head(self, data: FileData) -> str:
        """Return the first row; `DeserializationError` if it lacks a required column."""
        start = super().start(data)
        row = self._first_row(data, start)
        try:
            text = row.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as exc:
            raise DeserializationError(f"the first row is not UTF-8: {row[:_SHOWN]!r}") from exc
        self._picker(text)
        return text

    def start(self, data: FileData) -> int:
        """Return the byte offset of the second row."""
        start = super().start(data)
        return start + len(self._first_row(data, start))

    def _first_row(self, data: FileData, start: int) -> bytes:
        block = data.read(start, _MAX_HEAD_BYTES)
        ends, _ = record_ends(block, quoted=True)
        if len(ends):
            return block[: int(ends[0]) + 1]
        if len(block) == _MAX_HEAD_BYTES:
            raise DeserializationError(f"the first row has more than {_MAX_HEAD_BYTES:,} bytes")
        return block

    def rows(self, records: Sequence[bytes], head: str) -> Rows:
        """Return the records as values, with their fields in the order of the type's fields.

        Args:
            records: The rows after the first one, without line ends.
            head: The first row of the file, with the column names.
        """
        pick, count = self._picker(head)
        mark = self.delimiter.encode()
        values: list[bytes | None] = []
        faults: dict[int, str] = {}
        for number, record in enumerate(records):
            if not record and count > 1:
                values.append(None)
                continue
            fields = None
            if b'"' not in record:
                found = record.count(mark) + 1
            elif has_more_fields(record, mark, count):
                found = None
            else:
                fields = divided(record, mark)
                found = len(fields)
            if found != count:
                faults[number] = _unequal(found, count)
                values.append(None)
            elif pick is None:
                values.append(record)
            else:
                values.append(pick(record.split(mark) if fields is None else fields))
        return Rows(pa.array(values, pa.binary()), wrong=faults)

    def _picker(self, head: str) -> tuple[Callable[[list[bytes]], bytes] | None, int]:
        """Return a function that reorders fields (None if not needed), and the field count."""
        mark = self.delimiter.encode()
        names = [_unquoted(each.decode()) for each in divided(head.encode(), mark)]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            raise DeserializationError(f"the first row names column {double[0]!r} twice")
        wanted = [column.name for column in self._columns]
        for column in self._columns:
            if column.required and column.name not in names:
                near = get_close_matches(column.name, names, n=1)
                guess = f" (did you mean {near[0]!r}?)" if near else ""
                raise DeserializationError(
                    f"the first row has no column {column.name!r}{guess}: {head[:_SHOWN]!r}",
                    hint="add a column to the file for each field without a default, or give the "
                    "field a default.",
                )
        if names == wanted:
            return None, len(names)
        special = re.compile(f'["\r\n{re.escape(self.delimiter)}]')
        places = {name: place for place, name in enumerate(names)}
        parts: list[int | bytes] = [
            places[column.name]
            if column.name in places
            else column.write(column.default, special).encode()
            for column in self._columns
        ]

        def pick(fields: list[bytes]) -> bytes:
            return mark.join(fields[p] if isinstance(p, int) else p for p in parts)

        return pick, len(names)


def _unequal(found: int | None, expected: int) -> str:
    if found is None:
        return f"the row has more fields than the header, which has {expected}"
    fields = "1 field" if found == 1 else f"{found} fields"
    return f"the row has {fields}, the header has {expected}"


def _unquoted(name: str) -> str:
    name = name.strip()
    if len(name) > 1 and name.startswith('"') and name.endswith('"'):
        return name[1:-1].replace('""', '"')
    return name
