"""The `TopicWriter` of embedded topics, which collects records into segments in the background."""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - pyarrow's first conversion loads it, too late at exit
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from threading import Condition
from uuid import uuid4

from typing_extensions import override

from kstreams.connection import Pending, RecordWriter
from kstreams.embedded.buffer import Buffer
from kstreams.embedded.log import EmbeddedLog
from kstreams.errors import (
    ExecutionError,
    KStreamsError,
    RowsRefusedError,
    UnknownPartitionError,
    UnknownTopicError,
    Where,
)
from kstreams.record import Headers

__all__ = ("Batching", "EmbeddedWriter")

_Buffers = dict[tuple[str, int], Buffer]


@dataclass(frozen=True)
class Batching:
    """The limits at which buffered records become segments.

    A single record waits for `linger`. While more records arrive, the wait doubles up to
    `max_linger`, so that a steady trickle does not make a file every few milliseconds.

    Args:
        linger: Time that the first record waits for more records.
        max_linger: Maximum time that a record waits in a steady stream.
        max_records: Number of buffered records, over all partitions, that ends the wait; further
            calls of `write` block until the buffer is flushed.
        max_bytes: Number of buffered bytes of keys and values that ends the wait in the same way.
    """

    linger: timedelta = timedelta(milliseconds=5)
    max_linger: timedelta = timedelta(milliseconds=100)
    max_records: int = 50_000
    max_bytes: int = 16 << 20


class EmbeddedWriter(RecordWriter):
    """Implements `kstreams.connection.TopicWriter` on a log.

    Each flush appends one segment to each partition with buffered records. A missing topic is
    created. `write` raises `RowsRefusedError` if the timestamp is negative, and
    `UnknownPartitionError` if the topic has no such partition.

    Args:
        log: The embedded topics.
        default_partitions: Number of partitions of topics that the writer creates.
        batching: The limits at which the writer flushes.
    """

    def __init__(
        self, log: EmbeddedLog, *, default_partitions: int = 4, batching: Batching | None = None
    ) -> None:
        self._log = log
        self._default_partitions = default_partitions
        self._batching = batching or Batching()
        self._producer = uuid4().hex
        self._batch = 0
        self._counts: dict[str, int] = {}
        self._buffers: _Buffers = {}
        self._records = 0
        self._bytes = 0
        self._queued = 0
        self._settled = 0
        self._wanted = 0
        self._closing = False
        self._changed = Condition()
        super().__init__("kstreams-embedded-writer")

    @override
    def _put(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        future: Pending | None,
    ) -> None:
        self._check(topic, partition, timestamp)
        size = len(key or b"") + len(value or b"")
        with self._changed:
            if self._full():
                self._changed.wait_for(self._has_room)
            if self._closing:
                raise ExecutionError("the writer is closed", where=Where(topic=topic))
            if not self._buffers:
                self._changed.notify_all()
            buffer = self._buffers.get((topic, partition))
            if buffer is None:
                buffer = self._buffers[topic, partition] = Buffer()
            buffer.add(key, value, timestamp, headers, future)
            self._queued += 1
            self._records += 1
            self._bytes += size
            if self._full():
                self._changed.notify_all()

    @override
    def _wait(self) -> None:
        with self._changed:
            wanted = self._wanted = self._queued
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._settled >= wanted)

    @override
    def _stop(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()

    def _check(self, topic: str, partition: int, timestamp: int) -> None:
        if timestamp < 0:
            raise RowsRefusedError(
                f"timestamp {timestamp} ms is negative",
                hint="Event times count from 1970 on; give the record a later time.",
                where=Where(topic=topic, partition=partition),
            )
        count = self._counts.get(topic)
        if count is None:
            count = self._log.ensure(topic, self._default_partitions).partitions
            self._counts[topic] = count
        if not 0 <= partition < count:
            raise UnknownPartitionError(
                f"no such partition, expected 0 to {count - 1}",
                where=Where(topic=topic, partition=partition),
            )

    def _full(self) -> bool:
        limits = self._batching
        return self._records >= limits.max_records or self._bytes >= limits.max_bytes

    def _has_room(self) -> bool:
        return self._closing or not self._full()

    def _urgent(self) -> bool:
        return self._closing or self._full() or self._wanted > self._settled

    @override
    def _run(self) -> None:
        linger = self._batching.linger
        while True:
            with self._changed:
                if not self._buffers:
                    linger = self._batching.linger
                    self._changed.wait_for(lambda: self._buffers or self._closing)
                if not self._buffers:
                    return
                self._changed.wait_for(self._urgent, timeout=linger.total_seconds())
                taken, self._buffers = self._buffers, {}
                taken_count, self._records, self._bytes = self._records, 0, 0
                self._changed.notify_all()
            self._append(taken)
            linger = min(linger * 2, self._batching.max_linger)
            with self._changed:
                self._settled += taken_count
                self._changed.notify_all()

    def _append(self, taken: Mapping[tuple[str, int], Buffer]) -> None:
        batch, self._batch = self._batch, self._batch + 1
        for (topic, partition), buffer in taken.items():
            try:
                segment = self._log.append(
                    topic, partition, buffer.table(), producer=self._producer, batch=batch
                )
            except Exception as exc:  # noqa: BLE001 - else the futures would hang
                self._fail(buffer, _typed(exc).at(topic=topic, partition=partition))
            else:
                buffer.resolve(segment)

    def _fail(self, buffer: Buffer, error: KStreamsError) -> None:
        if isinstance(error, UnknownTopicError):
            self._counts.clear()  # deleted meanwhile: the next write looks again
        self._note_failure(error)
        buffer.fail(error)


def _typed(exc: Exception) -> KStreamsError:
    if isinstance(exc, KStreamsError):
        return exc
    error = ExecutionError(f"records could not be appended: {exc!r}")
    error.__cause__ = exc
    return error
