"""Files that are compressed with gzip, in whichever format."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from kstreams.errors import DeserializationError
from kstreams.file_logs.files import BLOCK_BYTES, FileData
from kstreams.file_logs.format import Format, Mark, Rows, check_from_the_beginning
from kstreams.serde.base import Serde

__all__ = ("Gzip",)

K = TypeVar("K")
"""Type of the keys of a file's records."""
V = TypeVar("V")
"""Type of their values."""

_FREE_BYTES = 16 * 1024 * 1024
_GZIP = 31


@dataclass(frozen=True)
class Gzip(Format[K, V]):
    """Each file is compressed; one member, or several after each other.

    Args:
        format: What is in the files.
        max_ratio: A file that becomes so many times larger, and more than 16 MiB, cannot be read:
            it is made to fill memory or time.
    """

    format: Format[K, V]
    max_ratio: int = 200
    key: Serde[K] = field(init=False, compare=False)
    value: Serde[V] = field(init=False, compare=False)
    name: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Take over what the format says; `TypeError` for one that has to be read from anywhere."""
        check_from_the_beginning(self.format)
        object.__setattr__(self, "key", self.format.key)
        object.__setattr__(self, "value", self.format.value)
        object.__setattr__(self, "name", f"gzip({self.format.name})")

    def head(self, data: FileData) -> str:
        """Return what the format has to know."""
        return self.format.head(_Unzipped(data, self.max_ratio))

    def scan(self, data: FileData) -> Iterator[Mark]:
        """Look through what comes out."""
        return self.format.scan(_Unzipped(data, self.max_ratio))

    def read(self, data: FileData, head: str, mark: Mark) -> Iterator[Rows]:
        """Read what comes out, from the beginning of the file on."""
        return self.format.read(_Unzipped(data, self.max_ratio), head, mark)


class _Unzipped(FileData):
    """What comes out of a compressed file."""

    def __init__(self, data: FileData, max_ratio: int) -> None:
        self._data = data
        self._most = max(_FREE_BYTES, data.size * max_ratio)
        self.name = data.name
        self.size = data.size

    def read(self, start: int, length: int) -> bytes:
        """Return bytes of what comes out."""
        found = bytearray()
        for block in self.blocks(start):
            found += block[: length - len(found)]
            if len(found) == length:
                break
        return bytes(found)

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield what comes out, from a byte of it on."""
        passed = 0
        for block in self._all():
            passed += len(block)
            if passed > self._most:
                raise DeserializationError(
                    f"its {self.size:,} bytes become more than {self._most:,}",
                    hint="raise max_ratio of Gzip, if it is right.",
                )
            if passed > start:
                yield block[max(start - passed, -len(block)) :] if start else block

    def check(self) -> None:
        """Check the compressed file."""
        self._data.check()

    def close(self) -> None:
        """Close the compressed file."""
        self._data.close()

    def _all(self) -> Iterator[bytes]:
        stream = zlib.decompressobj(_GZIP)
        whole = False
        try:
            for block in self._data.blocks(0):
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
            raise DeserializationError(f"it is not whole gzip: {exc}") from exc
        if not whole:
            raise DeserializationError("it is not whole gzip: it ends early, or is empty")
