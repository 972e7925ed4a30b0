"""Files that hold other files, compressed: what their formats and what comes out have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from kstreams.errors import DeserializationError
from kstreams.serde.base import Serde
from kstreams_files.files import FileData
from kstreams_files.format import Format

__all__ = ("Packed", "Unpacked")

K = TypeVar("K")
"""Type of the keys of a file's records."""
V = TypeVar("V")
"""Type of their values."""

_FREE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Packed(Format[K, V]):
    """A format inside of another, which is read from its beginning on.

    Args:
        format: What comes out.
        max_ratio: A file that becomes so many times larger, and more than 16 MiB, cannot be read.

    Attributes:
        packing: What the name of the whole begins with.
    """

    packing: ClassVar[str]

    format: Format[K, V]
    max_ratio: int = 200
    key: Serde[K] = field(init=False, compare=False)
    value: Serde[V] = field(init=False, compare=False)
    name: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Take over what the format says.

        Raises:
            TypeError: It needs bytes from anywhere in its files.
        """
        if self.format.reads_anywhere:
            raise TypeError(
                f"{self.format.name} files cannot be read inside archives\n"
                "Hint: unpack them; their content is compressed already."
            )
        object.__setattr__(self, "key", self.format.key)
        object.__setattr__(self, "value", self.format.value)
        object.__setattr__(self, "name", f"{self.packing}({self.format.name})")

    def check_bytes(self, data: FileData, count: int) -> None:
        """See that so many bytes may come out of a file.

        Raises:
            DeserializationError: They are too many.
        """
        most = max(_FREE_BYTES, data.size * self.max_ratio)
        if count > most:
            raise DeserializationError(
                f"its {data.size:,} bytes become more than {most:,}",
                hint=f"raise max_ratio of {type(self).__name__}, if it is right.",
            )


class Unpacked(FileData):
    """What comes out of a file.

    Args:
        data: The file; closed with this.
        name: What it is called.
        size: In bytes, where it is known; else the file's.
    """

    def __init__(self, data: FileData, name: str, size: int) -> None:
        self.data = data
        self.name = name
        self.size = size

    @abstractmethod
    def all(self) -> Iterator[bytes]:
        """Yield all that comes out.

        Raises:
            DeserializationError: The file is damaged, or too much comes out.
        """

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
        for block in self.all():
            passed += len(block)
            if passed > start:
                yield block[max(start - passed, -len(block)) :] if start else block

    def check(self) -> None:
        """Check the file."""
        self.data.check()

    def close(self) -> None:
        """Close the file."""
        self.data.close()
