"""The interface of a collection of files: its list, and the bytes of a file at one version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

__all__ = ("BLOCK_BYTES", "FileData", "FileInfo", "Files")

BLOCK_BYTES = 1024 * 1024
"""The number of bytes per read."""


@dataclass(frozen=True)
class FileInfo:
    """A file at one version.

    Attributes:
        name: The path of the file in the collection, with `/` between its components.
        version: A text that changes with the content: an ETag, or size and modification time.
        size: The size in bytes.
        modified_ms: The time of the last change, ms since the epoch: also the time of the file's
            records.
    """

    name: str
    version: str
    size: int
    modified_ms: int


class FileData(ABC):
    """The bytes of an open file, which do not change while it is open; a change is an error.

    Attributes:
        name: The name of the file.
        size: The size in bytes.
    """

    name: str
    size: int

    @abstractmethod
    def read(self, start: int, length: int) -> bytes:
        """Return `length` bytes from `start` on, or fewer at the end of the file.

        Raises:
            FileChangedError: The file has another version now.
            SourceError: The file cannot be read.
        """

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield all bytes from `start` on, in blocks that are not empty; raises as `read`."""
        while block := self.read(start, BLOCK_BYTES):
            yield block
            start += len(block)

    @abstractmethod
    def check(self) -> None:
        """Raise `FileChangedError` unless the read bytes belong to the opened version."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""


class Files(Protocol):
    """The settings of a collection of files: picklable, comparable, without secrets in texts.

    Attributes:
        label: The name in texts and diagrams.
    """

    @property
    def label(self) -> str:
        """The name in texts and diagrams."""
        ...

    def list(self) -> Iterator[FileInfo]:
        """Yield the existing files, in any order.

        Raises:
            SourceError: The collection is unsuitable, for example because it does not exist.
            SourceUnavailableError: The storage does not answer.
        """
        ...

    def open(self, file: FileInfo) -> FileData:
        """Open a file at its version.

        Raises:
            FileChangedError: The file has another version, or does not exist any more.
            SourceError: The file cannot be read.
            SourceUnavailableError: The storage does not answer.
        """
        ...
