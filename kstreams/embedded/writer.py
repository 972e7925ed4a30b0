"""The writing side of embedded topics: records gather into segments in the background."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 - pyarrow's first conversion loads it, too late at exit
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import timedelta
from threading import Condition, Thread
from uuid import uuid4

from kstreams.connection import Appended
from kstreams.embedded.buffer import Buffer, Pending
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

    A single record waits for `linger`. While more records arrive the wait doubles up to
    `max_linger`, so that a steady trickle does not make a file every few milliseconds.

    Args:
        linger: Time that the first record waits for others.
        max_linger: Maximum wait in a steady stream.
        max_records: Number of buffered records, over all partitions, that ends the wait; further
            calls of `write` block until the buffer is flushed.
        max_bytes: Number of buffered bytes of keys and values that does the same.
    """

    linger: timedelta = timedelta(milliseconds=5)
    max_linger: timedelta = timedelta(milliseconds=100)
    max_records: int = 50_000
    max_bytes: int = 16 << 20


class EmbeddedWriter:
    """Implements `kstreams.connection.TopicWriter` on a log. Threads may share it.

    Each flush appends one segment to each partition. The writes of one thread to a
    partition have offsets in the same order. Buffered records are flushed at the end of the
    process.

    Args:
        log: The topics.
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
        self._failure: KStreamsError | None = None
        self._changed = Condition()
        self._thread = Thread(target=self._run, name="kstreams-embedded-writer", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
        """Queue a record; a missing topic is created.

        Args:
            topic: The topic's name.
            partition: One of its partitions.
            key: Null or bytes.
            value: Null, which is a tombstone, or bytes.
            timestamp: Milliseconds since the epoch, not negative.
            headers: Pairs of name and value.

        Returns:
            Resolves when the record is on the disk, or raises why not. It cannot be
            cancelled.

        Raises:
            RowsRefusedError: The timestamp is negative.
            UnknownPartitionError: The topic has no such partition.
            ExecutionError: The writer is closed.
        """
        future = Pending()
        self._put(topic, partition, key, value, timestamp, headers, future)
        return future

    def enqueue(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> None:
        """Queue a record as `write` does, without a future.

        At a tenth of a future's price: several objects a record that the garbage
        collector looks at. A failure shows at the next `flush`.
        """
        self._put(topic, partition, key, value, timestamp, headers, None)

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

    def flush(self) -> None:
        """Wait until all that was queued before the call is durable.

        Raises:
            KStreamsError: The first failure since the last flush; the futures concerned
                have it too.
        """
        with self._changed:
            wanted = self._wanted = self._queued
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._settled >= wanted)
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Flush, then end the background thread; raises as `flush`. May be repeated."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        atexit.unregister(self.close)
        self.flush()

    def _check(self, topic: str, partition: int, timestamp: int) -> None:
        if timestamp < 0:
            raise RowsRefusedError(
                f"timestamp {timestamp} ms is negative",
                hint="Event times count from 1970 on; give the record a real one.",
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
        with self._changed:
            self._failure = self._failure or error
        buffer.fail(error)


def _typed(exc: Exception) -> KStreamsError:
    if isinstance(exc, KStreamsError):
        return exc
    error = ExecutionError(f"records could not be appended: {exc!r}")
    error.__cause__ = exc
    return error
