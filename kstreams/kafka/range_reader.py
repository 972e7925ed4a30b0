"""Ranges of offsets as Arrow tables, for tasks that are told what to read."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import repeat
from operator import is_, itemgetter, methodcaller, ne

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kstreams.errors import DataLossError, Where
from kstreams.kafka.consumers import Consumers
from kstreams.kafka.librdkafka import (
    Consumer,
    KafkaError,
    Message,
    TopicPartition,
)
from kstreams.kafka.options import Kafka
from kstreams.task.queues import HEADERS_TYPE, QUEUE_SCHEMA

__all__ = ("OffsetRange", "RangeReader")

_TUNING = {
    # What is fetched ahead is for the next batch, which another worker may be told to read.
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 32 * 1024,
    "fetch.queue.backoff.ms": 2,
    "fetch.error.backoff.ms": 100,
}
_AT_ONCE = 10_000
_NO_OFFSETS = np.empty(0, np.int64)
_MOST_AHEAD = 50_000
_POLL_S = 0.05

_Place = tuple[str, int]

_STAMP = itemgetter(1)
_ERROR, _TOPIC, _PARTITION, _OFFSET, _TIMESTAMP, _KEY, _VALUE, _HEADERS = map(
    methodcaller,
    ("error", "topic", "partition", "offset", "timestamp", "key", "value", "headers"),
)


@dataclass(frozen=True)
class OffsetRange:
    """Records of a partition with `start <= offset < end`."""

    topic: str
    partition: int
    start: int
    end: int


@dataclass
class _Progress:
    """How far one range is read.

    Attributes:
        end: Where it ends.
        next: All before this offset was given out by the consumer, or is not there.
        messages: What was read of the range.
        offsets: Theirs, in pieces.
        ahead: What was read behind it.
        topic_end: Where the partition ended, as far as the consumer has noticed.
        paused: Whether it is fetched no more for now: other partitions are far behind.
    """

    end: int
    next: int
    messages: list[Message] = field(default_factory=list)
    offsets: list[npt.NDArray[np.int64]] = field(default_factory=list)
    ahead: list[Message] = field(default_factory=list)
    topic_end: int = -1
    paused: bool = False

    @property
    def left(self) -> int:
        """How many offsets are still to come."""
        return max(self.end - self.next, 0)

    def take(self, messages: list[Message]) -> None:
        """Take messages of the partition, offsets rising."""
        if not messages:
            return
        offsets = np.fromiter(map(_OFFSET, messages), np.int64, len(messages))
        inside = int(np.searchsorted(offsets, self.end))
        self.messages += messages[:inside]
        self.offsets.append(offsets[:inside])
        self.ahead += messages[inside:]
        self.next = max(self.next, int(offsets[-1]) + 1)

    def take_end(self, offset: int) -> None:
        """Note where the partition ends: what is missing before it does not exist."""
        self.topic_end = offset
        self.next = max(self.next, offset)

    def table(self) -> pa.Table:
        """Return what was read of the range, and let go of it."""
        messages, self.messages = self.messages, []
        headers = list(map(_HEADERS, messages))
        bare = headers.count(None) == len(headers)
        columns = [
            pa.array(np.concatenate((_NO_OFFSETS, *self.offsets))),
            pa.array(np.fromiter(map(_STAMP, map(_TIMESTAMP, messages)), np.int64, len(messages))),
            pa.array(list(map(_KEY, messages)), pa.binary()),
            pa.array(list(map(_VALUE, messages)), pa.binary()),
            pa.nulls(len(messages), HEADERS_TYPE) if bare else pa.array(headers, HEADERS_TYPE),
        ]
        return pa.Table.from_arrays(columns, schema=QUEUE_SCHEMA)

    def followed_by(self, end: int) -> _Progress:
        """Return the progress of the range that begins where this one ends."""
        following = _Progress(end, self.next, topic_end=self.topic_end)
        following.take(self.ahead)
        return following


class RangeReader:
    """
    Reads ranges of offsets with one consumer.

    What was fetched beyond a range is kept for the next call, which goes on there in most
    cases. Not for several threads at once.

    Args:
        connection: The cluster.
        timeout: How long to wait for a broker that does not answer.
    """

    def __init__(self, connection: Kafka, *, timeout: timedelta = timedelta(seconds=40)) -> None:
        self._consumers = Consumers(connection, tuning=_TUNING, lost=DataLossError.WAY_ON)
        self._timeout_s = timeout.total_seconds()
        self._consumer: Consumer | None = None
        self._last: dict[_Place, _Progress] = {}

    def read(self, ranges: Sequence[OffsetRange]) -> list[pa.Table]:
        """
        Return the records of each range, in the order of the ranges.

        Offsets without a record (deleted, compacted, markers of transactions) are passed
        over.

        Args:
            ranges: One a partition at most.

        Returns:
            Tables of `QUEUE_SCHEMA`.

        Raises:
            KafkaOptionsError: librdkafka does not know an option.
            UnknownTopicError: A topic or partition is gone.
            DataLossError: Records of a range were deleted before they were read.
            BrokerUnavailableError: No broker answers.
            KafkaRequestError: The cluster refuses.
        """
        if not ranges:
            return []
        try:
            consumer, reading = self._begin(ranges)
            self._read(consumer, reading)
        except BaseException:
            self.close()
            raise
        self._last = reading
        return [reading[each.topic, each.partition].table() for each in ranges]

    def close(self) -> None:
        """Let go of connections; the next read makes new ones."""
        consumer, self._consumer = self._consumer, None
        self._last = {}
        if consumer is not None:
            consumer.close()

    def _begin(self, ranges: Sequence[OffsetRange]) -> tuple[Consumer, dict[_Place, _Progress]]:
        """Point the consumer at the ranges, unless it goes on where it is."""
        reading: dict[_Place, _Progress] = {}
        same = self._consumer is not None and len(ranges) == len(self._last)
        for each in ranges:
            place = each.topic, each.partition
            last = self._last.get(place)
            if last is not None and last.end == each.start:
                reading[place] = last.followed_by(each.end)
            else:
                reading[place], same = _Progress(each.end, each.start), False
        if self._consumer is None:
            self._consumer = self._consumers.open()
        paused = [TopicPartition(*place) for place, last in self._last.items() if last.paused]
        if paused:
            self._consumer.resume(paused)
        if not same:
            self._consumer.assign(
                [TopicPartition(*place, progress.next) for place, progress in reading.items()]
            )
        return self._consumer, reading

    def _read(self, consumer: Consumer, reading: dict[_Place, _Progress]) -> None:
        deadline = time.monotonic() + self._timeout_s
        while left := sum(progress.left for progress in reading.values()):
            # It waits for so many, or the time-out: never ask for more than there are.
            messages = consumer.consume(min(left, _AT_ONCE), timeout=_POLL_S)
            if messages:
                self._take(messages, reading)
                self._pause(consumer, reading)
                deadline = time.monotonic() + self._timeout_s
            elif time.monotonic() > deadline:
                raise self._silence(reading)

    def _pause(self, consumer: Consumer, reading: dict[_Place, _Progress]) -> None:
        """Fetch no more of what is far ahead."""
        for place, progress in reading.items():
            if len(progress.ahead) > _MOST_AHEAD and not progress.paused:
                consumer.pause([TopicPartition(*place)])
                progress.paused = True

    def _take(self, messages: list[Message], reading: dict[_Place, _Progress]) -> None:
        errors = list(map(_ERROR, messages))
        # By identity: to compare an error of librdkafka's with None leaves an exception behind.
        if not all(map(is_, errors, repeat(None))):
            for message, error in zip(messages, errors, strict=True):
                if error is not None:
                    self._take_error(message, error, reading)
            messages = [m for m, error in zip(messages, errors, strict=True) if error is None]
        for place, run in _runs(messages):
            reading[place].take(run)

    def _take_error(
        self, message: Message, error: KafkaError, reading: dict[_Place, _Progress]
    ) -> None:
        place = message.topic() or "", message.partition() or 0
        progress = reading.get(place)
        if progress is None:
            raise self._consumers.failure(error, Where())
        offset = message.offset() or 0
        if error.code() != KafkaError._PARTITION_EOF:
            raise self._consumers.failure(
                error, Where(topic=place[0], partition=place[1], offset=progress.next)
            )
        progress.take_end(offset)

    def _silence(self, reading: dict[_Place, _Progress]) -> Exception:
        topic, partition = next(place for place, progress in reading.items() if progress.left)
        progress = reading[topic, partition]
        where = Where(topic=topic, partition=partition, offset=progress.next)
        if 0 <= progress.topic_end < progress.end:
            return DataLossError(
                f"the partition ends at offset {progress.topic_end}, and was longer before",
                hint=DataLossError.WAY_ON,
                where=where,
            )
        return self._consumers.silence(f"no records of {topic}/{partition} in time", where)


def _runs(messages: list[Message]) -> Iterator[tuple[_Place, list[Message]]]:
    """Divide messages where topic or partition change."""
    count = len(messages)
    if not count:
        return
    partitions = np.fromiter(map(_PARTITION, messages), np.int32, count)
    changed = partitions[1:] != partitions[:-1]
    topics = list(map(_TOPIC, messages))
    if topics.count(topics[0]) < count:
        changed |= np.fromiter(map(ne, topics[1:], topics), np.bool_, count - 1)
    starts = [0, *(np.flatnonzero(changed) + 1).tolist()]
    for start, end in zip(starts, [*starts[1:], count], strict=True):
        first = messages[start]
        yield (first.topic() or "", int(partitions[start])), messages[start:end]
