"""Objects of a bucket as files of a log, each at one version."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from typing_extensions import override

from kstreams.errors import FileChangedError, SourceError
from kstreams_files.files import BLOCK_BYTES, FileData, FileInfo
from kstreams_files.finished import FinishedFiles
from kstreams_files.local import is_unfinished

__all__ = ("ObjectFiles",)

_CHANGED = (
    "bring the object back as it was, or reset the app. Give what is new a name of its own: an "
    "object is not to be written over."
)


@dataclass(frozen=True)
class ObjectFiles(FinishedFiles):
    """A `Files` of objects, in storage that reads an object at a version.

    Names with a step that begins with `.` or `_`, or that end with `/`, are ignored.

    Args:
        pattern: The pattern of names after their last slash.
        recursive: Whether to include objects with another slash after the prefix.
    """

    pattern: str
    recursive: bool

    @property
    @abstractmethod
    def where(self) -> str:
        """The name of bucket and prefix in texts."""

    @property
    @abstractmethod
    def part_bytes(self) -> int:
        """The number of bytes that one request reads of a large object."""

    @abstractmethod
    def all(self) -> Iterable[FileInfo]:
        """Return all objects below the prefix, of any writer.

        Raises:
            SourceError: The storage rejects the request.
            SourceUnavailableError: The storage does not answer.
        """

    @abstractmethod
    def read(self, file: FileInfo, start: int, length: int) -> bytes | None:
        """Return bytes of an object at its version; None where that is not there any more.

        Raises:
            SourceError: The storage refuses.
            SourceUnavailableError: It does not answer.
        """

    @abstractmethod
    def retire(self, file: FileInfo, to: str) -> bool:
        """Delete an object at its version, or rename it; return whether the new name is free.

        An object with another version, and a missing object, are left; a copy of a killed process
        counts.

        Raises:
            SourceError: The storage rejects the request.
            SourceUnavailableError: The storage does not answer.
        """

    def take_away(self, file: FileInfo, to: str) -> None:
        """Delete an object at its version, or give it another name below the prefix.

        Raises:
            SourceError: The storage refuses, or has another object of that name.
            SourceUnavailableError: It does not answer.
        """
        if not self.retire(file, to):
            raise SourceError(
                f"object {file.name!r} of {self.where} was read and goes to {to!r}, where another "
                "is",
                hint="take that one away: it is of an object that had this name before.",
            )

    @property
    def label(self) -> str:
        """Bucket, prefix and pattern."""
        return f"{self.where}, {self.pattern}"

    @override
    def list(self) -> Iterator[FileInfo]:
        for each in self.all():
            last = each.name.rpartition("/")[2]
            if (
                last
                and not is_unfinished(each.name)
                and (self.recursive or last == each.name)
                and fnmatchcase(last, self.pattern)
            ):
                yield each

    def open(self, file: FileInfo) -> FileData:
        """Return an object; nothing is asked before it is read."""
        if is_unfinished(file.name):
            raise SourceError(f"object {file.name!r} is none that {self.where} is read for")
        return _ObjectData(self, file)


class _ObjectData(FileData):
    """The bytes of an object at a version: each request is for this one."""

    def __init__(self, files: ObjectFiles, file: FileInfo) -> None:
        self._files = files
        self._file = file
        self.name = file.name
        self.size = file.size

    @override
    def read(self, start: int, length: int) -> bytes:
        if start >= self.size:
            return b""
        data = self._files.read(self._file, start, length)
        if data is None:
            raise FileChangedError(
                f"object {self.name!r} of {self._files.where} has changed since its records were "
                f"planned, or is gone: its version was {self._file.version}",
                hint=_CHANGED,
            )
        return data

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield all blocks from `start` on, several blocks per request."""
        while part := self.read(start, self._files.part_bytes):
            for cut in range(0, len(part), BLOCK_BYTES):
                yield part[cut : cut + BLOCK_BYTES]
            start += len(part)

    def check(self) -> None:
        """Do nothing: each answer was of the version."""

    def close(self) -> None:
        """Do nothing."""
