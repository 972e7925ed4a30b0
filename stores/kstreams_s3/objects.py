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
    format: Format[K, V],  # noqa: A002  # what it is
    *,
    pattern: str = "*",
    recursive: bool = True,
    partitions: int = 1,
    look_every: timedelta = timedelta(seconds=1),
    index: ObjectStoreSettings | None = None,
    when_read: WhenRead = "leave",
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
        when_read: What becomes of a object after the commit of what was made of it: `"leave"`,
            `"delete"` or `MoveTo("_done")`; see `FileLog`.

    Raises:
        CompileError: The name or the number of partitions cannot be.
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
