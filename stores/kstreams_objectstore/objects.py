"""Objects of a bucket as a log: a source of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any, TypeVar

from typing_extensions import override

from kstreams.sources import FileInfo, FileLog, Format, ObjectFiles, WhenRead
from kstreams.state import ObjectStoreSettings
from kstreams_objectstore.settings import BucketSettings
from kstreams_objectstore.store import BucketStore

__all__ = ("objects",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


def objects(
    name: str,
    place: BucketSettings,
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

    Like `kstreams.sources.folder`, with objects instead of files and the storage's versions (ETags
    of S3, generations of Google Cloud Storage) instead of modification times. Names with a segment
    that begins with `.` or `_`, or that end with `/`, are ignored. If a bucket of Google Cloud
    Storage keeps old versions, an overwritten object can still be read.

    Args:
        name: The name of the log in checkpoints.
        place: The bucket and the prefix: `S3(...)` or `GCS(...)`.
        format: The format of the objects.
        pattern: The pattern of names after their last slash: `*.csv.gz`.
        recursive: Whether to include objects with another slash after the prefix.
        partitions: The number of tasks that may read at the same time, each task a different
            object; the number must never change.
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
    """The objects of a bucket, each at one version, as the files of a `FileLog`."""

    place: BucketSettings

    @property
    @override
    def where(self) -> str:
        return self.place.place

    @property
    @override
    def part_bytes(self) -> int:
        return self.place.part_bytes

    @override
    def all(self) -> Sequence[FileInfo]:
        return _store(self.place).listed()

    @override
    def read(self, file: FileInfo, start: int, length: int) -> bytes | None:
        return _store(self.place).read_version(file, start, length)

    @override
    def retire(self, file: FileInfo, to: str) -> bool:
        return _store(self.place).retire(file, to)


@lru_cache(maxsize=8)
def _store(place: BucketSettings) -> BucketStore[Any, Any]:
    """Return this process's store for the settings of a bucket."""
    return place.open()
