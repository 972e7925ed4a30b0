"""File formats: encoding of rows as the bytes of one file."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import override

from kstreams_rows.columnar import Columns, check_names

__all__ = ("Columns", "CsvTable", "Encoded", "FileFormat", "JsonLines")

_LEVEL = 6


@dataclass(frozen=True)
class Encoded:
    """An encoded file and the rows it does not contain.

    Attributes:
        data: The bytes; None if no row was encoded.
        refused: The reasons for rejected rows, by row number.
    """

    data: bytes | None
    refused: Mapping[int, str]


class FileFormat(Protocol):
    """A file format: picklable settings that encode rows as a file."""

    @property
    def extension(self) -> str:
        """The file name extension, such as `.csv`."""
        ...

    def encode(self, rows: Sequence[Columns]) -> Encoded:
        """Encode rows as a file; reject rows that the format cannot represent."""
        ...


@dataclass(frozen=True)
class JsonLines(FileFormat):
    """One JSON object per line, in UTF-8.

    Rows with dates, decimals or bytes are rejected, because JSON cannot represent these. So are
    rows with NaN or infinite numbers, which most readers do not accept.

    Args:
        gzip: Whether files are compressed.
    """

    gzip: bool = False

    @property
    def extension(self) -> str:
        """`.jsonl`, or `.jsonl.gz`."""
        return _extension(".jsonl", self.gzip)

    @override
    def encode(self, rows: Sequence[Columns]) -> Encoded:
        return _lines(rows, _json_line, b"", compressed=self.gzip)


@dataclass(frozen=True)
class CsvTable(FileFormat):
    """Comma-separated values by RFC 4180, in UTF-8, with a header line.

    Texts, numbers, and values with a text form (dates, decimals) are supported. None is an empty
    field. A row with an unknown column is rejected; a missing column is empty.

    Args:
        columns: The columns, in order.
        gzip: Whether to compress files.

    Raises:
        ValueError: There is no column, or a column is named twice.
    """

    columns: tuple[str, ...]
    gzip: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns or len(set(self.columns)) < len(self.columns):
            raise ValueError(f"columns={self.columns!r}: expected one or more distinct names")

    @property
    def extension(self) -> str:
        """`.csv`, or `.csv.gz`."""
        return _extension(".csv", self.gzip)

    @override
    def encode(self, rows: Sequence[Columns]) -> Encoded:
        return _lines(rows, self._line, _csv_line(self.columns), compressed=self.gzip)

    def _line(self, row: Columns) -> bytes:
        check_names(row, self.columns)
        for name, value in row.items():
            if isinstance(value, (bytes, Mapping, list, tuple, set)):
                raise TypeError(
                    f"column {name!r} has a {type(value).__name__}, which CSV cannot store: use a "
                    "text or a number"
                )
        return _csv_line([row.get(name) for name in self.columns])


def _lines(
    rows: Sequence[Columns], line: Callable[[Columns], bytes], head: bytes, *, compressed: bool
) -> Encoded:
    found: list[bytes] = []
    refused: dict[int, str] = {}
    for number, row in enumerate(rows):
        try:
            found.append(line(row))
        except (TypeError, ValueError, RecursionError) as exc:
            refused[number] = f"{type(exc).__name__}: {exc}"
    if not found:
        return Encoded(None, refused)
    data = head + b"".join(found)
    return Encoded(gzip.compress(data, _LEVEL, mtime=0) if compressed else data, refused)


def _json_line(row: Columns) -> bytes:
    text = json.dumps(dict(row), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def _csv_line(values: Sequence[object]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(values)
    return text.getvalue().encode()


def _extension(kind: str, compressed: bool) -> str:
    return f"{kind}.gz" if compressed else kind
