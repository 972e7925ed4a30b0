"""The common base of text formats whose records end with line ends: lines and CSV."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from kstreams.errors import DeserializationError
from kstreams_files.files import FileData
from kstreams_files.format import Format, Mark, Rows

__all__ = ("MAX_RECORD_BYTES", "TextRecords", "record_ends")

K = TypeVar("K")
"""Type of the keys of a file's records."""
V = TypeVar("V")
"""Type of the values of a file's records."""

MAX_RECORD_BYTES = 16 * 1024 * 1024
"""The default maximum size of a record, in bytes."""

_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_LINE_END, _QUOTE = 10, 34


def record_ends(
    block: bytes, *, quoted: bool, inside: bool = False
) -> tuple[npt.NDArray[np.int64], bool]:
    """Return the index of the LF of each record in a block, and whether the block ends in quotes.

    Args:
        block: A block of a file.
        quoted: Whether line ends inside quotes are part of a record.
        inside: Whether the block begins inside quotes.
    """
    data = np.frombuffer(block, np.uint8)
    if not quoted or (not inside and b'"' not in block):
        return np.flatnonzero(data == _LINE_END), False
    odd = np.cumsum(data == _QUOTE, dtype=np.int64) + inside & 1
    return np.flatnonzero((data == _LINE_END) & (odd == 0)), bool(odd[-1])


class TextRecords(Format[K, V]):
    """The base of formats whose records end with LF or CR LF, optional after the last record.

    Attributes:
        quoted: Whether line ends between quotes belong to the record.
        max_record_bytes: The maximum size of a record; a file with a larger record cannot be read.
    """

    quoted: bool
    max_record_bytes: int

    @abstractmethod
    def rows(self, records: Sequence[bytes], head: str) -> Rows:
        """Convert records, whose line ends are removed, to rows."""

    def start(self, data: FileData) -> int:
        """Return the byte offset of the first record, after the UTF-8 byte order mark if any."""
        first = data.read(0, len(_BOM))
        if first.startswith(_WIDE):
            raise DeserializationError("the text is UTF-16, expected UTF-8")
        return len(_BOM) if first == _BOM else 0

    @override
    def scan(self, data: FileData) -> Iterator[Mark]:
        byte = self.start(data)
        records = unfinished = 0
        inside = False
        yield Mark(0, byte)
        for block in data.blocks(byte):
            ends, inside = record_ends(block, quoted=self.quoted, inside=inside)
            if len(ends):
                sizes = np.diff(ends, prepend=-1 - unfinished)
                if sizes.max() - 1 > self.max_record_bytes:
                    raise self._too_long(records + int(np.argmax(sizes)))
                records += len(ends)
                unfinished = len(block) - int(ends[-1]) - 1
                yield Mark(records, byte + int(ends[-1]) + 1)
            else:
                unfinished += len(block)
            if unfinished > self.max_record_bytes:
                raise self._too_long(records)
            byte += len(block)
        if inside:
            raise DeserializationError(f"record {records + 1} has a quote that is not closed")
        yield Mark(records + (unfinished > 0), byte)

    @override
    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        rest: list[bytes] = []
        inside = False
        for block in data.blocks(mark.place):
            ends, inside = record_ends(block, quoted=self.quoted, inside=inside)
            if not len(ends):
                rest.append(block)
                continue
            cuts = ends.tolist()
            records = [block[a + 1 : b] for a, b in pairwise([-1, *cuts])]
            records[0] = b"".join([*rest, records[0]])
            rest = [block[cuts[-1] + 1 :]]
            yield self.rows(_without_returns(records), head)
        last = b"".join(rest)
        if last:
            yield self.rows(_without_returns([last]), head)

    def _too_long(self, record: int) -> DeserializationError:
        return DeserializationError(
            f"record {record + 1} has more than {self.max_record_bytes:,} bytes",
            hint="if the file is legitimate, raise max_record_bytes of the format.",
        )


def _without_returns(records: list[bytes]) -> list[bytes]:
    return [each[:-1] if each.endswith(b"\r") else each for each in records]
