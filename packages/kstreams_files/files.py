"""A place of files: which there are, and their bytes at one version."""

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
        name: Path below the place, with `/` between its steps.
        version: Differs whenever its contents do: an ETag, or size and time of change.
        size: In bytes.
        modified_ms: When it was last changed, ms since the epoch: the time of its records.
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
        """Return bytes from `start` on; fewer where the file ends earlier.

        Raises:
            FileChangedError: It is not that version any more.
            SourceError: It cannot be read.
        """

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield all from `start` on, none of it empty; raises as `read`."""
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
        """Yield the files that there are, in any order.

        Raises:
            SourceError: The place is not as it has to be.
            SourceUnavailableError: It does not answer.
        """
        ...

    def open(self, file: FileInfo) -> FileData:
        """Open a file at its version.

        Raises:
            FileChangedError: It has another version, or is gone.
            SourceError: It cannot be read.
            SourceUnavailableError: The place does not answer.
        """
        ...
