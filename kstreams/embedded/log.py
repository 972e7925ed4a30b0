"""Topics as directories: append, publish, list and read segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from uuid import uuid4

import numpy as np
import pyarrow as pa

from kstreams.embedded.catalog import STAGING, TopicCatalog, TopicInfo
from kstreams.embedded.files import explained
from kstreams.embedded.partition import PartitionLog
from kstreams.embedded.reading import read_segment, segment_bytes
from kstreams.embedded.rows import COLUMNS, checked, encode, max_timestamp
from kstreams.embedded.segment import APPENDING, Segment, Staged, producer_hash
from kstreams.errors import RowsRefusedError, UnknownPartitionError, Where
from kstreams.files import sync_directory, write_new

__all__ = ("EmbeddedLog",)


class EmbeddedLog:
    """Topics below one root directory, for any number of threads and processes at once.

    `<root>/<topic>/topic.json` describes a topic, `<root>/<topic>/<partition>/` has
    its segments, `<root>/<topic>/.staged/` has unpublished files. Segments never
    change, and are complete before they are visible. A completed append is on
    the disk, unless `durable` is False.

    Only a power failure can undo records that a reader has seen: a segment is visible for a
    moment before its append returns.

    Args:
        root: Directory of the topics, on a local file system.
        durable: Whether each append waits for the disk (about 0.5 ms). False keeps all other
            guarantees except across a power failure.
    """

    def __init__(self, root: Path, *, durable: bool = True) -> None:
        self.root = root
        self._durable = durable
        self._catalog = TopicCatalog(root, durable=durable)
        self._partitions: dict[tuple[str, str, int], PartitionLog] = {}
        self._mutex = Lock()

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics, sorted."""
        return self._catalog.names()

    def topic(self, name: str) -> TopicInfo:
        """Return the `TopicInfo` of a topic.

        Raises:
            UnknownTopicError: The topic does not exist; the hint suggests a similar name.
            TopicFormatError: The file `topic.json` has another format, or is damaged.
        """
        return self._catalog.get(name)

    def create(
        self, topic: str, partitions: int, *, config: Mapping[str, str] | None = None
    ) -> TopicInfo:
        """Create a topic atomically and return its `TopicInfo`.

        Raises:
            TopicExistsError: The topic exists.
            InvalidTopicError: The name or the number of partitions is not valid.
        """
        return self._catalog.create(topic, partitions, config)

    def ensure(self, topic: str, partitions: int) -> TopicInfo:
        """Return the `TopicInfo` of a topic, which is created if it is missing."""
        return self._catalog.ensure(topic, partitions)

    def delete(self, topic: str) -> None:
        """Delete a topic with its records, or raise `UnknownTopicError`."""
        self._catalog.delete(topic)

    def append(
        self, topic: str, partition: int, table: pa.Table, *, producer: str, batch: int
    ) -> Segment:
        """Append rows as one segment, once for each batch of a producer.

        Args:
            topic: An existing topic.
            partition: One of its partitions.
            table: `timestamp` (int64 ms since the epoch, not negative), `key` and `value`
                (binary, null allowed), optionally `headers`; at least one row.
            producer: Name of the producer: any text that is the same in a replay.
            batch: The producer's number for these rows, from 0. If the producer has appended this
                number before, the call is a replay, and the rows are ignored.

        Returns:
            The new segment, or the existing segment of this batch.

        Raises:
            RowsRefusedError: A row is not valid in a topic; nothing was written.
            UnknownTopicError: The topic or the partition does not exist.
            ExecutionError: The disk cannot be written; nothing was appended. If only the final sync
                of the directory fails, the rows are visible, and a replay returns their segment.
        """
        log = self._partition(topic, partition)
        with explained("append", topic=topic, partition=partition):
            name = producer_hash(producer)
            found = log.find(name, _checked_batch(batch, topic, partition))
            if found is not None:
                return found
            staged = self._stage(topic, partition, table, APPENDING)
            return log.publish(self._staged_file(topic, partition, staged), staged, name, batch)

    def stage(self, topic: str, partition: int, table: pa.Table, *, owner: str) -> str:
        """Write rows to a file that is invisible to readers until `publish`.

        Called on executors, once for each attempt: each call writes a new file.

        Args:
            topic: An existing topic.
            partition: One of its partitions.
            table: See `append`.
            owner: Owner of the file, for `sweep_staged`: any text.

        Returns:
            The file's name, for `publish`. The file survives a power failure.

        Raises:
            KStreamsError: As for `append`.
        """
        self._partition(topic, partition)
        with explained("stage rows", topic=topic, partition=partition):
            staged = self._stage(topic, partition, table, producer_hash(owner))
            if self._durable:
                sync_directory(self._staging(topic, partition))
        return staged.name

    def publish(
        self, topic: str, partition: int, staged: str, *, producer: str, batch: int
    ) -> Segment:
        """Make staged rows visible at the next offsets, once for each batch of a producer.

        Called on the driver, for the successful attempt. The call may be repeated: if the batch is
        published already, the staged file is deleted, and the existing segment is returned.

        Raises:
            ExecutionError: The staged file does not exist, and the batch was never published.
            UnknownTopicError: There is no such topic, or no such partition.
        """
        log = self._partition(topic, partition)
        parsed = Staged.parse(staged)
        if parsed is None:
            raise ValueError(f"staged is {staged!r}, expected a result of `stage`")
        file = self._staged_file(topic, partition, parsed)
        batch = _checked_batch(batch, topic, partition)
        with explained("publish", topic=topic, partition=partition):
            return log.publish(file, parsed, producer_hash(producer), batch)

    def sweep_staged(self, owners: Iterable[str], *, older_than_ms: int) -> int:
        """Remove the leftovers of killed writers in all topics.

        Staged files of other owners stay: a stopped app may still publish them.

        Args:
            owners: Owners, as in `stage`, whose staged files will not be published.
            older_than_ms: Also remove unfinished appends and topics that were last written before
                this time, ms since the epoch. Choose a time so early that no running append or
                creation began before it.

        Returns:
            Number of removed files and unfinished topics.
        """
        removed = self._catalog.sweep(older_than_ms)
        dead = set(map(producer_hash, owners))
        for file in self.root.glob(f"*/{STAGING}/*/*"):
            staged = Staged.parse(file.name)
            owner = None if staged is None else staged.owner
            try:
                if owner in dead or (owner == APPENDING and _is_older(file, older_than_ms)):
                    file.unlink()
                    removed += 1
            except FileNotFoundError:  # published, or swept by another, meanwhile
                continue
        return removed

    def segments(self, topic: str, partition: int, start_offset: int = 0) -> tuple[Segment, ...]:
        """Return the segments with rows at or after `start_offset`, in offset order.

        Opens no segment, and lists the directory only when more than one segment was
        published since the last call: 10,000 segments cost no more than ten.

        Raises:
            UnknownTopicError: There is no such topic, or no such partition.
            DataLossError: A segment between two other segments was deleted.
            CorruptSegmentError: Two segments claim the same offsets.
        """
        log = self._partition(topic, partition)
        with explained("list segments", topic=topic, partition=partition):
            return log.segments(start_offset)

    def beginning_offset(self, topic: str, partition: int) -> int:
        """Return the first existing offset; 0 for an empty partition."""
        return self._offsets(topic, partition)[0]

    def end_offset(self, topic: str, partition: int) -> int:
        """Return the offset after the last row; 0 for an empty partition."""
        return self._offsets(topic, partition)[1]

    def end_offsets(self, topic: str) -> tuple[TopicInfo, dict[int, int]]:
        """Return the topic, and the `end_offset` of each partition.

        Raises:
            UnknownTopicError: There is no such topic.
        """
        info = self._catalog.get(topic)
        ends: dict[int, int] = {}
        for partition in range(info.partitions):
            with explained("list segments", topic=topic, partition=partition):
                ends[partition] = self._partition_of(info, topic, partition).offsets()[1]
        return info, ends

    def _offsets(self, topic: str, partition: int) -> tuple[int, int]:
        log = self._partition(topic, partition)
        with explained("list segments", topic=topic, partition=partition):
            return log.offsets()

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return, by partition, the first offset with a timestamp at or after the given time (ms).

        For a partition without such a row, the result is its end offset. Reads one segment's
        timestamps at most for each partition.
        """
        count = self.topic(topic).partitions
        return {n: self._offset_at(topic, n, timestamp_ms) for n in range(count)}

    def _offset_at(self, topic: str, partition: int, timestamp_ms: int) -> int:
        found = self.first_since(topic, partition, timestamp_ms)
        return self.end_offset(topic, partition) if found is None else found[0]

    def first_since(self, topic: str, partition: int, timestamp_ms: int) -> tuple[int, int] | None:
        """Return offset and timestamp of the first row at or after a time, ms since the epoch.

        None if there is no such row. Reads one segment's timestamps at most.
        """
        for segment in self.segments(topic, partition):
            if segment.max_timestamp >= timestamp_ms:
                column = self.read(segment, columns=("timestamp",)).column("timestamp")
                times = column.to_numpy()
                first = int(np.argmax(times >= timestamp_ms))
                return segment.first_offset + first, int(times[first])
        return None

    def read(
        self,
        segment: Segment,
        from_offset: int | None = None,
        to_offset: int | None = None,
        columns: Sequence[str] = COLUMNS,
        *,
        max_bytes: int | None = None,
    ) -> pa.Table:
        """Read the rows of a segment, with the requested columns only. Needs no listing.

        Args:
            segment: A segment of this log, or of another process's log on the same root.
            from_offset: First offset; the segment's first if None or smaller.
            to_offset: Exclusive end offset; the segment's end if None or larger.
            columns: Some of `offset`, `timestamp`, `key`, `value`, `headers`.
            max_bytes: Stop soon after the rows exceed this size.

        Returns:
            The rows in offset order, with the columns in the requested order; no rows for an empty
            range.

        Raises:
            CorruptSegmentError: The file is damaged.
            DataLossError: The file was deleted.
            ValueError: A column does not exist.
        """
        return read_segment(self.root, segment, from_offset, to_offset, columns, max_bytes)

    def stored_bytes(self, segment: Segment) -> int:
        """Return the approximate size of a segment's rows in memory; raises as `read`."""
        return segment_bytes(self.root, segment)

    def _partition(self, topic: str, partition: int) -> PartitionLog:
        info = self._catalog.get(topic)
        if not 0 <= partition < info.partitions:
            raise UnknownPartitionError(
                f"no such partition, expected 0 to {info.partitions - 1}",
                where=Where(topic=topic, partition=partition),
            )
        return self._partition_of(info, topic, partition)

    def _partition_of(self, info: TopicInfo, topic: str, partition: int) -> PartitionLog:
        key = (topic, info.topic_id, partition)
        log = self._partitions.get(key)
        if log is None:
            directory = self.root / topic / str(partition)
            with self._mutex:
                log = self._partitions.setdefault(
                    key, PartitionLog(directory, topic, partition, durable=self._durable)
                )
        return log

    def _stage(self, topic: str, partition: int, table: pa.Table, owner: str) -> Staged:
        rows = checked(table, topic=topic, partition=partition)
        encoding, data = encode(rows)
        staged = Staged(owner + uuid4().hex, rows.num_rows, max_timestamp(rows), encoding)
        file = self._staged_file(topic, partition, staged)
        write_new(file, data, durable=self._durable)
        return staged

    def _staging(self, topic: str, partition: int) -> Path:
        return self.root / topic / STAGING / str(partition)

    def _staged_file(self, topic: str, partition: int, staged: Staged) -> Path:
        return self._staging(topic, partition) / staged.name


def _is_older(file: Path, time_ms: int) -> bool:
    return file.stat().st_mtime_ns < time_ms * 1_000_000


def _checked_batch(batch: int, topic: str, partition: int) -> int:
    if batch < 0:
        raise RowsRefusedError(
            f"batch number is {batch}, expected 0 or more",
            where=Where(topic=topic, partition=partition),
        )
    return batch
