"""Gzip files, with content of any other format."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from typing_extensions import override

from kstreams.errors import DeserializationError
from kstreams_files.files import BLOCK_BYTES, FileData
from kstreams_files.format import Mark, Rows
from kstreams_files.packed import Packed, Unpacked

__all__ = ("Gzip",)

K = TypeVar("K")
"""Type of the keys of a file's records."""
V = TypeVar("V")
"""Type of the values of a file's records."""

_GZIP = 31
_SLICE_BYTES = 16 * 1024


@dataclass(frozen=True)
class Gzip(Packed[K, V]):
    """The format of gzip files; each file has one or more gzip members.

    Args:
        format: The format of the content.
        max_ratio: The maximum ratio of decompressed to compressed size. A file that exceeds the
            ratio and 16 MiB cannot be read, because it may be meant to exhaust memory or time.
    """

    packing: ClassVar[str] = "gzip"

    @override
    def head(self, data: FileData) -> str:
        return self.format.head(_Unzipped(self, data))

    @override
    def scan(self, data: FileData) -> Iterator[Mark]:
        return self.format.scan(_Unzipped(self, data))

    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        """Yield the records from position `mark`; decompression starts at the file's beginning."""
        return self.format.read(_Unzipped(self, data), head, mark)


def _slices(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the blocks in small slices.

    zlib copies the rest of its input at the end of each member, and members may be a few bytes
    long.
    """
    for block in blocks:
        for start in range(0, len(block), _SLICE_BYTES):
            yield block[start : start + _SLICE_BYTES]


class _Unzipped(Unpacked):
    """The content of a compressed file."""

    def __init__(self, form: Gzip[K, V], data: FileData) -> None:
        super().__init__(data, data.name, data.size)
        self._check_bytes = form.check_bytes

    @override
    def all(self) -> Iterator[bytes]:
        passed = 0
        for block in self._members():
            passed += len(block)
            self._check_bytes(self.data, passed)
            yield block

    def _members(self) -> Iterator[bytes]:
        stream = zlib.decompressobj(_GZIP)
        whole = False
        try:
            for block in _slices(self.data.blocks(0)):
                left = block
                while left:
                    if stream.eof:
                        left = left.lstrip(b"\0")  # as tapes are filled up
                        if not left:
                            break
                        stream, whole = zlib.decompressobj(_GZIP), False
                    if found := stream.decompress(left, BLOCK_BYTES):
                        yield found
                    left = stream.unused_data if stream.eof else stream.unconsumed_tail
                    whole = stream.eof
                while not stream.eof and (found := stream.decompress(b"", BLOCK_BYTES)):
                    yield found
                whole = stream.eof
        except zlib.error as exc:
            raise DeserializationError(f"the content is not a complete gzip file: {exc}") from exc
        if not whole:
            raise DeserializationError(
                "the content is not a complete gzip file: the file ends early, or is empty"
            )
