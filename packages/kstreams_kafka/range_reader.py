"""Reads ranges of offsets as Arrow tables, for tasks with planned ranges."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np
import pyarrow as pa

from kstreams import ids
from kstreams.errors import DataLossError, Where
from kstreams.raw_batch import INPUT_SCHEMA, NO_LIMIT, TooManyBytesError
from kstreams_kafka.consumers import Consumers
from kstreams_kafka.librdkafka import KafkaError
from kstreams_kafka.options import Kafka
from kstreams_kafka.table_consumer import Place, ReadError, TableConsumer, Taken

__all__ = ("OffsetRange", "RangeReader")

_TUNING = {
    # Records fetched ahead are for the next batch, which another worker may read.
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 32 * 1024,
    "fetch.queue.backoff.ms": 2,
    # One request is under way at a time: while it waits for news of partitions that are read to
    # their end, the records fetched ahead of the others run out.
    "fetch.wait.max.ms": 50,
    "fetch.error.backoff.ms": 100,
}
_AT_ONCE = 10_000
_AT_FIRST = 1_000
"""The number of records to take at once while their size is unknown."""
_AT_ONCE_AHEAD = 2_000
"""The number of records to take at once when reading ahead; few, so that `read` waits little."""
_MOST_AHEAD = 50_000
_RANGES_AHEAD = 2
"""The number of ranges to read ahead of a partition before it is paused. Pausing loses the
fetched records, so a partition with half of the records must not be paused.
"""
_POLL_S = 0.05
_POLL_AHEAD_S = 0.005
_AHEAD_S = 1.0
"""The time limit (s) for reading ahead."""
_STALLED_S = 10.0
"""The time (s) without progress after which `read` opens a new consumer: librdkafka can stop
fetching from a partition whose leader changes several times in a short time.
"""


@dataclass(frozen=True)
class OffsetRange:
    """Records of a partition with `start <= offset < end`."""

    topic: str
    partition: int
    start: int
    end: int


@dataclass
class _Progress:
    """The progress of reading one range.

    Attributes:
        start: The first offset of the range.
        end: The offset after the range.
        next: The next offset: the consumer has returned all earlier records that exist.
        pieces: The records read so far, in order; the last records may be beyond the end.
        held: The bytes of the records in `pieces`.
        rows: The number of records in `pieces`.
        topic_end: The end of the partition, as last reported by the consumer.
        paused: Whether fetching is paused, because the records read are far beyond `end`.
    """

    start: int
    end: int
    next: int
    pieces: list[pa.Table] = field(default_factory=list)
    held: int = 0
    rows: int = 0
    topic_end: int = -1
    paused: bool = False

    @property
    def left(self) -> int:
        """The number of offsets still to read."""
        return max(self.end - self.next, 0)

    @property
    def ahead(self) -> int:
        """The number of offsets read beyond the end."""
        return max(self.next - self.end, 0)

    def take(self, piece: pa.Table) -> None:
        """Add records of the partition, with rising offsets."""
        self.pieces.append(piece)
        self.held += piece.nbytes
        self.rows += piece.num_rows
        self.next = max(self.next, piece.column("offset")[-1].as_py() + 1)

    def take_end(self, offset: int) -> None:
        """Set the end of the partition; missing offsets before it have no records."""
        self.topic_end = offset
        self.next = max(self.next, offset)

    def table(self) -> pa.Table:
        """Return the records of the range, and keep the records after it."""
        whole = pa.concat_tables([INPUT_SCHEMA.empty_table(), *self.pieces])
        inside = int(np.searchsorted(whole.column("offset").to_numpy(), self.end))
        self.pieces = [whole.slice(inside)] if inside < whole.num_rows else []
        self.held = sum(piece.nbytes for piece in self.pieces)
        self.rows = whole.num_rows - inside
        return whole.slice(0, inside).combine_chunks()

    def size(self) -> tuple[int, int]:
        """Return the number of offsets read of the range, and the bytes of the records read."""
        size = 0
        for piece in self.pieces:
            offsets = piece.column("offset")
            if offsets[-1].as_py() >= self.end:
                inside = int(np.searchsorted(offsets.to_numpy(), self.end))
                size += piece.slice(0, inside).nbytes
            else:
                size += piece.nbytes
        return min(self.next, self.end) - self.start, size

    def followed_by(self, end: int) -> _Progress:
        """Return the progress of the next range, which begins where this range ends."""
        return self._of(self.end, end)

    def until(self, end: int) -> _Progress:
        """Return the progress of a range with this start and another end; keep the records read."""
        return self._of(self.start, end)

    def _of(self, start: int, end: int) -> _Progress:
        after = max(self.next, start)
        read = self.pieces, self.held, self.rows
        return _Progress(start, end, after, *read, topic_end=self.topic_end)


class RangeReader:
    """Reads ranges of offsets with one consumer.

    Records beyond a range are kept for the next call, which usually continues there. Call `read`
    and `read_ahead` from one thread.

    Args:
        connection: The cluster.
        timeout: The time limit for a broker's answer.
    """

    def __init__(self, connection: Kafka, *, timeout: timedelta = timedelta(seconds=40)) -> None:
        self._consumers = Consumers(
            connection.client_options("consumer"), tuning=_TUNING, lost=DataLossError.WAY_ON
        )
        self._compiled = connection.compiled
        self._timeout_s = timeout.total_seconds()
        self._consumer: TableConsumer | None = None
        self._last: dict[Place, _Progress] = {}
        self._ahead: threading.Thread | None = None
        self._ahead_ends = threading.Event()
        self._ahead_failed = False
        self._max_bytes = NO_LIMIT
        self._refused = False

    def read(self, ranges: Sequence[OffsetRange], *, max_bytes: int = NO_LIMIT) -> list[pa.Table]:
        """Return the records of each range, in the order of the ranges.

        Offsets without a record (deleted, compacted, transaction markers) are skipped.

        Args:
            ranges: The ranges, at most one for each partition.
            max_bytes: The size limit of all records together; a single record may be larger.

        Returns:
            Tables of `INPUT_SCHEMA`, one for each range.

        Raises:
            TooManyBytesError: The records exceed `max_bytes`. They are kept for the next call with
                ranges that have the same starts.
            KafkaOptionsError: librdkafka does not know an option.
            UnknownTopicError: A topic or partition is gone.
            DataLossError: Records of a range were deleted before they were read.
            BrokerUnavailableError: No broker answers.
            KafkaRequestError: The cluster rejects a request.
        """
        if not ranges:
            return []
        self._max_bytes = max_bytes
        self._end_ahead()
        if self._ahead_failed:
            self.close()
        try:
            consumer, reading = self._begin(ranges)
            self._refused = not self._read(consumer, reading)
        except BaseException:
            self.close()
            raise
        self._last = reading
        if self._refused:
            raise TooManyBytesError(
                {ids.TopicPartition(*place): progress.size() for place, progress in reading.items()}
            )
        return [reading[each.topic, each.partition].table() for each in ranges]

    def read_ahead(self) -> None:
        """Continue after the end of the last `read` in the background, until the next `read`.

        Reads as many offsets of each partition as the last `read`, so that the next `read` has
        less to do. After a failure the next `read` starts again, and raises the error if it
        persists.
        """
        if self._consumer is None or self._ahead is not None or self._refused:
            return
        self._ahead_ends.clear()
        self._ahead = threading.Thread(
            target=self._go_on, args=(self._consumer, self._last), name="read-ahead", daemon=True
        )
        self._ahead.start()

    def _go_on(self, consumer: TableConsumer, reading: dict[Place, _Progress]) -> None:
        deadline = time.monotonic() + _AHEAD_S
        try:
            while not self._ahead_ends.is_set() and time.monotonic() < deadline:
                if all(each.ahead >= each.end - each.start for each in reading.values()):
                    return
                if sum(each.held for each in reading.values()) > self._max_bytes // 2:
                    return
                taken = consumer.take(_AT_ONCE_AHEAD, 0)
                if taken.runs or taken.errors:
                    self._take(taken, reading)
                    self._pause(consumer, reading)
                else:
                    self._ahead_ends.wait(_POLL_AHEAD_S)
        except Exception:  # noqa: BLE001  # comes again in the next read
            self._ahead_failed = True

    def _end_ahead(self) -> None:
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            self._ahead_ends.set()
            ahead.join()

    def close(self) -> None:
        """Close the connections; the next `read` opens new ones."""
        self._end_ahead()
        self._ahead_failed = False
        consumer, self._consumer = self._consumer, None
        self._last = {}
        self._refused = False
        if consumer is not None:
            consumer.close()

    def _begin(self, ranges: Sequence[OffsetRange]) -> tuple[TableConsumer, dict[Place, _Progress]]:
        """Return the consumer, assigned to the ranges if needed, and the progress of each range."""
        reading: dict[Place, _Progress] = {}
        same = self._consumer is not None and len(ranges) == len(self._last)
        for each in ranges:
            place = each.topic, each.partition
            last = self._last.get(place)
            if last is not None and last.end == each.start and not self._refused:
                reading[place] = last.followed_by(each.end)
            elif last is not None and last.start == each.start and self._refused:
                reading[place] = last.until(each.end)
            else:
                reading[place], same = _Progress(each.start, each.end, each.start), False
        if self._consumer is None:
            self._consumer = self._consumers.open_tables(compiled=self._compiled)
        paused = [place for place, last in self._last.items() if last.paused]
        if paused:
            self._consumer.resume(paused)
        if not same:
            _assign(self._consumer, reading)
        return self._consumer, reading

    def _read(self, consumer: TableConsumer, reading: dict[Place, _Progress]) -> bool:
        """Read the ranges; return whether their size is within the limit."""
        least, deadline, stalled = math.inf, 0.0, 0.0
        while left := sum(progress.left for progress in reading.values()):
            now = time.monotonic()
            if left < least:
                least, deadline, stalled = left, now + self._timeout_s, now + _STALLED_S
            elif now > deadline:
                raise self._silence(reading)
            elif now > stalled:
                consumer, stalled = self._replace(consumer, reading), now + _STALLED_S
            if self._is_too_large(reading):
                return False
            # It waits for so many, or the time-out: never ask for more than there are.
            taken = consumer.take(min(left, self._at_once(reading)), _POLL_S)
            self._take(taken, reading)
            self._pause(consumer, reading)
        return not self._is_too_large(reading)

    def _replace(self, stalled: TableConsumer, reading: dict[Place, _Progress]) -> TableConsumer:
        """Close a consumer; return a new one that continues each range."""
        self._consumer = None
        stalled.close()
        self._consumer = self._consumers.open_tables(compiled=self._compiled)
        _assign(self._consumer, reading)
        for progress in reading.values():
            progress.paused = False
        return self._consumer

    def _is_too_large(self, reading: dict[Place, _Progress]) -> bool:
        if sum(progress.held for progress in reading.values()) <= self._max_bytes:
            return False
        one = sum(progress.end - progress.start for progress in reading.values()) == 1
        sizes = [progress.size()[1] for progress in reading.values()]
        return not one and sum(sizes) > self._max_bytes

    def _at_once(self, reading: dict[Place, _Progress]) -> int:
        """Return the number of records to fetch at once: fewer if records are large."""
        held = sum(progress.held for progress in reading.values())
        rows = sum(each.rows for each in reading.values())
        return min(_AT_ONCE, max(self._max_bytes * rows // (2 * held), 1) if held else _AT_FIRST)

    def _pause(self, consumer: TableConsumer, reading: dict[Place, _Progress]) -> None:
        """Pause fetching from partitions whose records are far beyond the end of their range."""
        for place, progress in reading.items():
            most = max(_MOST_AHEAD, _RANGES_AHEAD * (progress.end - progress.start))
            far = progress.ahead > most or (progress.ahead and progress.held > self._max_bytes)
            if far and not progress.paused:
                consumer.pause([place])
                progress.paused = True

    def _take(self, taken: Taken, reading: dict[Place, _Progress]) -> None:
        for failed in taken.errors:
            self._take_error(failed, reading)
        for place, run in taken.runs:
            reading[place].take(run)

    def _take_error(self, failed: ReadError, reading: dict[Place, _Progress]) -> None:
        topic, partition = failed.place
        progress = reading.get(failed.place)
        if progress is None:
            raise self._consumers.failure(failed.error, Where())
        if failed.error.code() != KafkaError._PARTITION_EOF:
            where = Where(topic=topic, partition=partition, offset=progress.next)
            raise self._consumers.failure(failed.error, where)
        progress.take_end(failed.offset)

    def _silence(self, reading: dict[Place, _Progress]) -> Exception:
        place, progress = next(found for found in reading.items() if found[1].left)
        where = Where(topic=place[0], partition=place[1], offset=progress.next)
        if 0 <= progress.topic_end < progress.end:
            return DataLossError(
                f"the partition ends at offset {progress.topic_end}, expected records before "
                f"offset {progress.end}",
                hint=DataLossError.WAY_ON,
                where=where,
            )
        return self._consumers.silence(
            f"no records of {ids.TopicPartition(*place)} within the time limit", where
        )


def _assign(consumer: TableConsumer, reading: dict[Place, _Progress]) -> None:
    consumer.assign([(*place, progress.next) for place, progress in reading.items()])
