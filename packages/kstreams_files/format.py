"""What makes records of a file."""

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
"""Type of their values."""


@dataclass(frozen=True)
class Mark:
    """Where a record of a file begins; all before it come before.

    Attributes:
        record: Its number, from 0 on.
        place: Where it is, in the format's own terms, such as a byte.
    """

    record: int
    place: int


@dataclass(frozen=True)
class Rows:
    """Some records of a file, one after the other.

    Attributes:
        values: `binary`; null is a null value.
        keys: The same of keys; None where all are null.
        wrong: By row, why it cannot be read.
        headers: As records have them; None where none has any.
    """

    values: pa.Array
    keys: pa.Array | None = None
    wrong: Mapping[int, str] = field(default_factory=dict)
    headers: pa.Array | None = None


class Format(ABC, Generic[K, V]):
    """Makes records of a file: the same ones each time. Immutable, picklable, compared by value.

    What a file cannot be read by is a `DeserializationError`: then the file is one record that
    does not decode, for its source's `on_error`.

    Attributes:
        name: Says what decides where records begin and end; an index is for one such name.
        key: Serde of the keys.
        value: Serde of the values.
        reads_anywhere: Whether it needs bytes from anywhere in a file, not one after the other.
    """

    reads_anywhere = False

    name: str
    key: Serde[K]
    value: Serde[V]

    def head(self, data: FileData) -> str:
        """Return what each reader of the file has to know of its beginning.

        Raises:
            DeserializationError: It does not begin as it has to.
        """
        return ""

    @abstractmethod
    def scan(self, data: FileData) -> Iterator[Mark]:
        """Look through a file: yield marks, the first record's first, at last that of its end.

        Raises:
            DeserializationError: It cannot be read to its end, or is larger than it may be.
        """

    @abstractmethod
    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        """Yield the records from a mark to the end of the file.

        Args:
            data: The file.
            head: What `head` returned of it.
            mark: One of those that `scan` yielded.
        """
