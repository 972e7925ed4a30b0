"""One partition: its published segments, and the lock for publishing the next segment.

A publisher holds a `flock` on the file `.head`, writes into it the name of the segment it is about
to publish and the names of the last segments, newest first, and links the segment's complete file
to the new name. So a listing is current if its newest segment is the first segment in `.head`:
planning reads 4 KB rather than a directory, and compares no file times. If a publisher is killed
between the two steps, `.head` begins with a segment that does not exist; each other process then
scans the directory until the next segment is published. A process also scans the directory if more
segments have been published since its last look than `.head` names.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from kstreams.embedded.listing import Listing
from kstreams.embedded.segment import Segment, Staged
from kstreams.errors import CorruptSegmentError, DataLossError, ExecutionError, Where
from kstreams.files import sync_directory

__all__ = ("PartitionLog",)

_HEAD = ".head"
_HEAD_BYTES = 4096
_HEAD_NAMES = 31
"""The number of names in a head file; each has at most 130 bytes."""


class PartitionLog:
    """The published segments of one partition.

    Threads may share an instance; each process has its own instances.

    Args:
        directory: The existing directory of the partition.
        topic: Name of the topic.
        partition: Number of the partition.
        durable: Whether to wait until the name of a new segment is on the disk.
    """

    def __init__(self, directory: Path, topic: str, partition: int, *, durable: bool) -> None:
        self._directory = directory
        self._head_path = str(directory / _HEAD)
        self._topic = topic
        self._partition = partition
        self._durable = durable
        self._mutex = RLock()
        self._listing: Listing | None = None
        self._head: int | None = None  # open while this process holds the lock

    def segments(self, start_offset: int = 0) -> tuple[Segment, ...]:
        """Return the segments with rows at or after `start_offset`, in offset order.

        Raises:
            DataLossError: A segment between two other segments was deleted.
            CorruptSegmentError: Two segments claim the same offsets.
        """
        with self._mutex:
            return self._current().since(start_offset)

    def offsets(self) -> tuple[int, int]:
        """Return the first existing offset, and the offset after the last row."""
        with self._mutex:
            listing = self._current()
            return listing.beginning_offset, listing.end_offset

    def find(self, producer: str, batch: int) -> Segment | None:
        """Return the segment of a producer's batch; None if it is not published."""
        with self._mutex:
            found = self._current().find(producer, batch)
        if found is not None and self._durable:
            sync_directory(self._directory)  # its publisher may have died before it did
        return found

    def publish(self, file: Path, staged: Staged, producer: str, batch: int) -> Segment:
        """Make a complete file visible at the next offset, and return it as a segment.

        A batch of a producer is published once; a repeated call returns the same segment.

        The staged file no longer exists afterwards: it became the segment, or it was deleted
        because the batch had been published before.

        Raises:
            ExecutionError: The file does not exist, and the batch was never published.
        """
        with self._mutex, self._exclusive() as head:
            listing = self._current()
            segment = listing.find(producer, batch)
            if segment is None:
                if not file.exists():
                    raise self._vanished(file)
                segment = Segment(
                    self._topic,
                    self._partition,
                    listing.end_offset,
                    staged.count,
                    staged.max_timestamp,
                    producer,
                    batch,
                    staged.encoding,
                )
                names = (segment.name, *listing.newest(_HEAD_NAMES - 1))
                os.pwrite(head, "\n".join(names).encode().ljust(_HEAD_BYTES), 0)
                os.link(file, self._directory / segment.name)
                listing.append(segment)
            if self._durable:
                sync_directory(self._directory)
        file.unlink(missing_ok=True)
        return segment

    @contextmanager
    def _exclusive(self) -> Iterator[int]:
        """Lock the partition against other publishers. The caller must hold the mutex.

        Nested calls are allowed. Yields the file descriptor of `.head`.
        """
        if self._head is not None:
            yield self._head
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        head = os.open(self._head_path, flags, 0o666)
        try:
            fcntl.flock(head, fcntl.LOCK_EX)
            self._head = head
            yield head
        finally:
            self._head = None
            os.close(head)

    def _current(self) -> Listing:
        """Return a listing with all segments that were published before the call."""
        listing = self._listing
        if listing is None:
            return self._scan(Listing())
        names = self._read_head()
        if names[0] == listing.last_name or self._follow(listing, names):
            return listing
        return self._scan(listing)

    def _read_head(self) -> list[str]:
        """Return the names in the head file, newest first; an empty name without a head file."""
        try:  # no Path and no file object: a driver reads the heads of all partitions
            head = os.open(self._head_path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return [""]
        try:
            return os.read(head, _HEAD_BYTES).decode(errors="replace").rstrip().split("\n")
        finally:
            os.close(head)

    def _follow(self, listing: Listing, names: Sequence[str]) -> bool:
        """Add the new segments of a head file; return False if a scan is necessary.

        `names` are the names in the head file, newest first.
        """
        last = listing.last_name
        known = names.index(last) if last in names else len(names)
        for name in reversed(names[:known]):
            segment = Segment.parse(self._topic, self._partition, name)
            if (
                segment is None
                or segment.first_offset != listing.end_offset
                or not os.path.exists(os.path.join(self._directory, name))  # noqa: PTH110, PTH118 - as `_read_head`
            ):
                return False
            listing.append(segment)
        return True

    def _scan(self, listing: Listing) -> Listing:
        """Update a listing from the directory, or create a new listing if it cannot be updated."""
        known, names = len(listing.names), self._names()
        whole = listing.names <= names and not listing.extend(self._parsed(names - listing.names))
        if not whole or (not known and listing.beginning_offset):
            # A directory that grows while it is listed can show a name and hide an older
            # one; names can also have been removed by hand. While publishers are kept out:
            with self._exclusive():
                listing = Listing()
                stray = listing.extend(self._parsed(self._names()))
            if stray is not None:
                self._listing = None
                raise self._misplaced(stray, listing.end_offset)
        self._listing = listing
        return listing

    def _names(self) -> set[str]:
        return set(os.listdir(self._directory))  # noqa: PTH208 - 10,000 Path objects take 10 ms

    def _parsed(self, names: set[str]) -> list[Segment]:
        parsed = (Segment.parse(self._topic, self._partition, name) for name in names)
        return [segment for segment in parsed if segment is not None]

    def _misplaced(self, segment: Segment, expected: int) -> ExecutionError:
        where = Where(topic=self._topic, partition=self._partition, offset=expected)
        if segment.first_offset > expected:
            return DataLossError(
                f"offsets {expected} to {segment.first_offset - 1} are gone from "
                f"{self._directory}: no segment before {segment.name} has them",
                hint="Restore the files, or also remove all segments before them; or remove "
                f"{segment.name}, if it does not belong to the topic.",
                where=where,
            )
        return CorruptSegmentError(
            f"{segment.name} begins at offset {segment.first_offset}, "
            f"but the segments before it end at {expected}",
            hint="Keep the segment that belongs to the topic, and remove the other.",
            where=where,
        )

    def _vanished(self, file: Path) -> ExecutionError:
        return ExecutionError(
            f"the staged file {file.name} is gone, and its batch was never published",
            hint="The file was cleaned up, or published as another batch; stage the rows again.",
            where=Where(topic=self._topic, partition=self._partition),
        )
