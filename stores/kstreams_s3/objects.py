"""Objects of a bucket as a log: a source of records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import TypeVar

from kstreams.errors import ObjectMissingError, SourceError, SourceUnavailableError, StoreError
from kstreams.sources import FileInfo, FileLog, Format, ObjectFiles, WhenRead
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


def objects(
    name: str,
    place: S3,
    format: Format[K, V],  # noqa: A002  # the public name of the option
    *,
    pattern: str = "*",
    recursive: bool = True,
    partitions: int = 1,
    look_every: timedelta = timedelta(seconds=1),
    index: ObjectStoreSettings | None = None,
    when_read: WhenRead = "leave",
) -> FileLog[K, V]:
    """Return the log of the objects below a prefix of a bucket.

    Like `kstreams.sources.folder`, with objects instead of files and ETags instead of modification
    times. Names with a step that begins with `.` or `_`, or that end with `/`, are ignored.

    Args:
        name: The name of the log in checkpoints.
        place: The bucket and the prefix.
        format: The format of the objects.
        pattern: The pattern of names after their last slash: `*.csv.gz`.
        recursive: Whether to include objects with another slash after the prefix.
        partitions: The number of tasks that may read at the same time, each another object; it must
            never change.
        look_every: The interval between searches for new objects; a search needs a request for each
            thousand objects.
        index: The storage of the offsets of objects; by default `_kstreams-NAME/` below the prefix,
            which needs write access.
        when_read: The policy for an object after the commit of its results: `"leave"`, `"delete"`
            or `MoveTo("_done")`; see `FileLog`.

    Raises:
        CompileError: The name or the number of partitions is invalid.
        ValueError: `look_every` is negative.
    """
    own = replace(place, url=f"{place.url.rstrip('/')}/_kstreams-{name}")
    return FileLog(
        name,
        _Objects(pattern, recursive, place),
        format,
        index=index or own,
        partitions=partitions,
        look_every=look_every,
        when_read=when_read,
    )


@dataclass(frozen=True)
class _Objects(ObjectFiles):
    """Objects with their ETags as versions."""

    place: S3

    @property
    def where(self) -> str:
        """Bucket and prefix."""
        return self.place.place

    @property
    def part_bytes(self) -> int:
        """As it is set."""
        return self.place.part_bytes

    def all(self) -> Sequence[FileInfo]:
        """Return the objects below the prefix."""
        with _as_source():
            found = _store(self.place).listed()
        return [FileInfo(each.name, each.etag, each.size, each.modified_ms) for each in found]

    def read(self, file: FileInfo, start: int, length: int) -> bytes | None:
        """Return bytes of the object that has the ETag."""
        try:
            with _as_source():
                return _store(self.place).get_version(file.name, file.version, start, length)
        except (ObjectMissingError, ReplacedError):
            return None

    def retire(self, file: FileInfo, to: str) -> bool:
        """Delete the object that has the ETag, or give it another name."""
        with _as_source():
            return _store(self.place).retire(file.name, file.version, to)


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
