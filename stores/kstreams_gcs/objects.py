"""Objects of a bucket as a log: a source of records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import TypeVar

from kstreams.sources import FileInfo, FileLog, Format, ObjectFiles, WhenRead
from kstreams.state import ObjectStoreSettings
from kstreams_gcs.settings import GCS
from kstreams_gcs.store import GcsObjectStore

__all__ = ("objects",)

K = TypeVar("K")
"""Type of the keys."""
V = TypeVar("V")
"""Type of the values."""


def objects(
    name: str,
    place: GCS,
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

    As `kstreams.sources.folder`, with objects for files and their generations for times of change:
    each request names the generation. Where the bucket keeps old versions, one that was written
    over can be read on. Names with a step that begins with `.` or `_`, or that end with `/`, are
    left out.

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
    """Objects with their generations as versions."""

    place: GCS

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
        return _store(self.place).listed()

    def read(self, file: FileInfo, start: int, length: int) -> bytes | None:
        """Return bytes of the object at the generation."""
        return _store(self.place).read_version(file, start, length)

    def retire(self, file: FileInfo, to: str) -> bool:
        """Delete the object at the generation, or give it another name."""
        return _store(self.place).retire(file, to)


@lru_cache(maxsize=8)
def _store(place: GCS) -> GcsObjectStore:
    """Return this process's."""
    return place.open()
