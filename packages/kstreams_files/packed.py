"""The common base of compressed formats, and of their content."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from typing_extensions import override

from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams_files.files import FileData
from kstreams_files.format import Format

__all__ = ("Packed", "Unpacked")

K = TypeVar("K")
"""Type of the keys of a file's records."""
V = TypeVar("V")
"""Type of the values of a file's records."""

_FREE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Packed(Format[K, V]):
    """A compressed format around another format; the content is read sequentially.

    Args:
        format: The format of the content.
        max_ratio: The maximum ratio of decompressed to compressed size. A file that exceeds the
            ratio and 16 MiB cannot be read.

    Attributes:
        packing: The name of the compression, which precedes the name of the inner format.
    """

    packing: ClassVar[str]

    format: Format[K, V]
    max_ratio: int = 200
    key: Serde[K] = field(init=False, compare=False)
    value: Serde[V] = field(init=False, compare=False)
    name: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Copy the attributes of the inner format.

        Raises:
            TypeError: The inner format needs random access to its files.
        """
        if self.format.reads_anywhere:
            raise TypeError(
                f"{self.format.name} files cannot be read inside archives\n"
                "Hint: unpack the files; their content is compressed already."
            )
        object.__setattr__(self, "key", self.format.key)
        object.__setattr__(self, "value", self.format.value)
        object.__setattr__(self, "name", f"{self.packing}({self.format.name})")

    def check_bytes(self, data: FileData, count: int) -> None:
        """Check the number of bytes that a file has when decompressed.

        Raises:
            DeserializationError: The number exceeds 16 MiB and `max_ratio` times the size of the
                compressed file.
        """
        most = max(_FREE_BYTES, data.size * self.max_ratio)
        if count > most:
            raise DeserializationError(
                f"the {data.size:,} bytes of the file become more than {most:,} when decompressed",
                hint=f"if the file is legitimate, raise max_ratio of {type(self).__name__}.",
            )


class Unpacked(FileData):
    """The decompressed content of a file.

    Args:
        data: The file; closed with this object.
        name: The name of the content, for records and error texts.
        size: The size of the content in bytes if it is known; else the size of the file.
    """

    def __init__(self, data: FileData, name: str, size: int) -> None:
        self.data = data
        self.name = name
        self.size = size

    @abstractmethod
    def all(self) -> Iterator[bytes]:
        """Yield the whole content in blocks.

        Raises:
            DeserializationError: The file is damaged, or its content is too large, see
                `Packed.check_bytes`.
        """

    @override
    def read(self, start: int, length: int) -> bytes:
        found = bytearray()
        for block in self.blocks(start):
            found += block[: length - len(found)]
            if len(found) == length:
                break
        return bytes(found)

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield the content from byte `start` on."""
        passed = 0
        for block in self.all():
            passed += len(block)
            if passed > start:
                yield block[max(start - passed, -len(block)) :] if start else block

    @override
    def check(self) -> None:
        self.data.check()

    @override
    def close(self) -> None:
        self.data.close()
