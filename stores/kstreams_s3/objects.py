"""Objects of a bucket as a log: a source of records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TypeVar

from kstreams.errors import (
    FileChangedError,
    ObjectMissingError,
    SourceError,
    SourceUnavailableError,
    StoreError,
)
from kstreams.sources import FileData, FileInfo, FileLog, Format, is_unfinished
from kstreams.state import ObjectStoreSettings
from kstreams_s3.errors import StorageUnavailableError
from kstreams_s3.read import ReplacedError
from kstreams_s3.settings import S3
from kstreams_s3.store import S3ObjectStore

__all__ = ("objects",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""

_BLOCK_BYTES = 1024 * 1024
_CHANGED = (
    "bring the object back as it was, or reset the app. Give what is new a name of its own: an "
    "object is not to be written over."
)


def objects(
    name: str,
    place: S3,
    format: Format[K, V],  # noqa: A002  # what it is
    *,
    pattern: str = "*",
    recursive: bool = True,
    partitions: int = 1,
    look_every: timedelta = timedelta(seconds=1),
    index: ObjectStoreSettings | None = None,
) -> FileLog[K, V]:
    """Return the log that the objects below a prefix of a bucket are.

    As `kstreams.sources.folder`, with objects for files and their ETags for times of change. Names
    with a step that begins with `.` or `_`, or that end with `/`, are left out.

    Args:
        name: Of the log, for its positions in checkpoints.
        place: Bucket and prefix.
        format: What makes records of an object.
        pattern: What names have to be like behind their last slash: `*.csv.gz`.
        recursive: Whether objects with another slash behind the prefix count.
        partitions: How many tasks may read at once, each another object; never to be changed.
        look_every: How often to look for new objects: each time is a request a thousand of them.
        index: Where it is written down which object has which offsets; by default below the
            prefix, `_kstreams-NAME/`, for which the credentials need to write.

    Raises:
        CompileError: The name or the number of partitions cannot be.
        ValueError: `look_every` is negative.
    """
    own = replace(place, url=f"{place.url.rstrip('/')}/_kstreams-{name}")
    return FileLog(
        name,
        _Objects(place, pattern, recursive),
        format,
        index=index or own,
        partitions=partitions,
        look_every=look_every,
    )


@dataclass(frozen=True)
class _Objects:
    """A `Files` of objects."""

    place: S3
    pattern: str
    recursive: bool

    @property
    def label(self) -> str:
        """Bucket, prefix and pattern."""
        return f"{self.place.place}, {self.pattern}"

    def list(self) -> Iterator[FileInfo]:
        """Yield the objects that there are."""
        with _as_source():
            found = _store(self.place).listed()
        for each in found:
            last = each.name.rpartition("/")[2]
            if (
                last
                and not is_unfinished(each.name)
                and (self.recursive or last == each.name)
                and fnmatchcase(last, self.pattern)
            ):
                yield FileInfo(each.name, each.etag, each.size, each.modified_ms)

    def open(self, file: FileInfo) -> FileData:
        """Return an object; nothing is asked before it is read."""
        return _ObjectData(self.place, file)


class _ObjectData(FileData):
    """The bytes of an object with an ETag: each request is for this one."""

    def __init__(self, place: S3, file: FileInfo) -> None:
        if not file.name or is_unfinished(file.name):
            raise SourceError(f"object {file.name!r} is none that {place.place} is read for")
        self._place = place
        self._file = file
        self.name = file.name
        self.size = file.size

    def read(self, start: int, length: int) -> bytes:
        """Return bytes from `start` on; fewer where the object ends earlier."""
        if start >= self.size:
            return b""
        file = self._file
        try:
            with _as_source():
                data = _store(self._place).get_version(file.name, file.version, start, length)
        except ObjectMissingError as exc:
            raise FileChangedError(exc.message, hint=_CHANGED) from None
        except ReplacedError:
            raise FileChangedError(
                f"object {file.name!r} of {self._place.place} has changed since its records were "
                f"planned: its ETag was {file.version}",
                hint=_CHANGED,
            ) from None
        return data

    def blocks(self, start: int) -> Iterator[bytes]:
        """Yield all from `start` on, some blocks a request."""
        while part := self.read(start, self._place.part_bytes):
            for cut in range(0, len(part), _BLOCK_BYTES):
                yield part[cut : cut + _BLOCK_BYTES]
            start += len(part)

    def check(self) -> None:
        """Do nothing: each answer was of the version."""

    def close(self) -> None:
        """Do nothing."""


@contextmanager
def _as_source() -> Iterator[None]:
    """Say of the storage's errors that they are a source's; without their causes, as they are."""
    try:
        yield
    except ObjectMissingError:
        raise
    except StorageUnavailableError as exc:
        raise SourceUnavailableError(exc.message, hint=exc.hint) from None
    except StoreError as exc:
        raise SourceError(exc.message, hint=exc.hint) from None


@lru_cache(maxsize=8)
def _store(place: S3) -> S3ObjectStore:
    """Return this process's."""
    return place.open()
