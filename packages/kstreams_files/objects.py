"""Files of a log that are objects of a bucket, each at one version."""

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
    "restore the object, or reset the app. Write new content to a new object: an object must not "
    "be overwritten."
)


@dataclass(frozen=True)
class ObjectFiles(FinishedFiles):
    """A `Files` of objects, for storage that can read an object at a version.

    Names that end with `/`, or have a component that begins with `.` or `_`, are ignored.

    Args:
        pattern: The pattern of names after their last slash.
        recursive: Whether to include objects with another slash after the prefix.
    """

    pattern: str
    recursive: bool

    @property
    @abstractmethod
    def where(self) -> str:
        """The bucket and the prefix, for error texts and diagrams."""

    @property
    @abstractmethod
    def part_bytes(self) -> int:
        """The number of bytes that one request reads from a large object."""

    @abstractmethod
    def all(self) -> Iterable[FileInfo]:
        """Return all objects below the prefix.

        Raises:
            SourceError: The storage rejects the request.
            SourceUnavailableError: The storage does not answer.
        """

    @abstractmethod
    def read(self, file: FileInfo, start: int, length: int) -> bytes | None:
        """Return bytes of an object at its version; None if the version no longer exists.

        Raises:
            SourceError: The storage rejects the request.
            SourceUnavailableError: The storage does not answer.
        """

    @abstractmethod
    def retire(self, file: FileInfo, to: str) -> bool:
        """Delete an object at its version, or rename it to `to`, if `to` is not empty.

        Returns False if another object has the new name. An object with another version is left
        unchanged, and a missing object is ignored. A copy that a killed process made counts as
        renamed.

        Raises:
            SourceError: The storage rejects the request.
            SourceUnavailableError: The storage does not answer.
        """

    def take_away(self, file: FileInfo, to: str) -> None:
        """Delete an object at its version; or rename it to `to`, below the prefix, if not empty.

        Raises:
            SourceError: The storage rejects the request, or another object has the new name.
            SourceUnavailableError: The storage does not answer.
        """
        if not self.retire(file, to):
            raise SourceError(
                f"object {file.name!r} of {self.where} was read, but cannot be moved to {to!r}: "
                "another object has this name",
                hint="move the other object away; it is an earlier object of the same name.",
            )

    @property
    def label(self) -> str:
        """The text in diagrams: bucket, prefix and pattern."""
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
        """Return an object; no request is sent before the first read."""
        if is_unfinished(file.name):
            raise SourceError(
                f"object {file.name!r} of {self.where} is not read: "
                "a part of the name begins with '.' or '_', the name ends as names of unfinished "
                "files do, or the object is outside the prefix"
            )
        return _ObjectData(self, file)


class _ObjectData(FileData):
    """The bytes of an object at one version; each request names the version."""

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
        """Do nothing, because each request named the version."""

    def close(self) -> None:
        """Do nothing, because no resource is held."""
