"""Formats, which parse files into records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pyarrow as pa

from kstreams.serde.base import Serde
from kstreams_files.files import FileData

__all__ = ("Format", "Mark", "Rows")

K = TypeVar("K")
"""Type of the keys of a file's records."""
V = TypeVar("V")
"""Type of the values of a file's records."""


@dataclass(frozen=True)
class Mark:
    """The position of a record in a file; all earlier records are before it.

    Attributes:
        record: The number of the record, from 0 on.
        place: The position in the units of the format, such as a byte offset.
    """

    record: int
    place: int


@dataclass(frozen=True)
class Rows:
    """Consecutive records of a file.

    Attributes:
        values: The values, an Arrow `binary` array; null is a null value.
        keys: The keys, an Arrow `binary` array; None if all are null.
        wrong: The error text of each row that cannot be read, by index in `values`.
        headers: The headers of records; None if there are none.
    """

    values: pa.Array
    keys: pa.Array | None = None
    wrong: Mapping[int, str] = field(default_factory=dict)
    headers: pa.Array | None = None


class Format(ABC, Generic[K, V]):
    """Parses a file into the same records each time. Immutable, picklable, compared by value.

    An unreadable file is a `DeserializationError`: the file is then one record that cannot be
    decoded, for the `on_error` of its source.

    Attributes:
        name: The name of the rule that divides a file into records. A `FileIndex` can only be used
            with formats of the same name.
        key: The serde of the keys.
        value: The serde of the values.
        reads_anywhere: Whether the format needs random access to a file.
    """

    reads_anywhere = False

    name: str
    key: Serde[K]
    value: Serde[V]

    def head(self, data: FileData) -> str:
        """Return the header of a file as text, for `read`: the first row of a CSV file.

        Empty for formats without a header.

        Raises:
            DeserializationError: The beginning is invalid.
        """
        return ""

    @abstractmethod
    def scan(self, data: FileData) -> Iterator[Mark]:
        """Scan a file; yield positions of records, from the first one to that of the file's end.

        Raises:
            DeserializationError: The file cannot be read to its end, or exceeds a limit.
        """

    @abstractmethod
    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        """Yield the records from a position to the end of the file.

        Args:
            data: The file.
            head: The result of `head` for the file.
            mark: A position that `scan` yielded.
        """
