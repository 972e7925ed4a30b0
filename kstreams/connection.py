"""The interface of a connection to topics, on Kafka or embedded.

`Embedded("data/")` and `Kafka("broker:9092")` are settings; both are a `Connection`.
"""

from __future__ import annotations

import atexit
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock, Thread
from typing import Protocol

from typing_extensions import override

from kstreams.errors import KStreamsError
from kstreams.record import Headers

__all__ = (
    "Appended",
    "Connection",
    "Pending",
    "RawRecord",
    "RecordWriter",
    "TopicAdmin",
    "TopicEnds",
    "TopicReader",
    "TopicWriter",
)


@dataclass(frozen=True)
class RawRecord:
    """An undecoded record of a topic; `timestamp` is in ms since the epoch.

    If the name of a header is not UTF-8, `headers` is empty and `headers_readable` is False.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    headers_readable: bool = True


@dataclass(frozen=True)
class Appended:
    """The position of a written record."""

    topic: str
    partition: int
    offset: int


@dataclass(frozen=True)
class TopicEnds:
    """The end offsets and the id of a topic.

    Attributes:
        topic_id: An id that changes when the topic is deleted and created again; empty if the
            connection has no such ids.
        offsets: The offset after the last record, by partition.
    """

    topic_id: str
    offsets: dict[int, int]


class TopicAdmin(Protocol):
    """Inspects and changes topics. Methods with a topic name raise `UnknownTopicError`."""

    def topics(self) -> tuple[str, ...]:
        """Return the names of all user topics (no internal topics), sorted."""
        ...

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        ...

    def create(
        self, topic: str, partitions: int, *, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic; raises `TopicExistsError` if it already exists."""
        ...

    def delete(self, topic: str) -> None:
        """Delete a topic and its records."""
        ...

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first offset that still exists, by partition."""
        ...

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition."""
        ...

    def ends(self, topic: str) -> TopicEnds:
        """Return the end offsets and the topic id with one request."""
        ...

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset with a timestamp at or after the given one, by partition.

        For a partition without such a record, the result is its end offset.
        """
        ...

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and timestamp of the first record at or after a time, by partition.

        `places` are the partitions, as pairs of topic and partition number, and the keys of the
        result. All records before the returned offset are earlier than the time. A partition
        without such a record is missing in the result. This takes one request, however many
        partitions and topics there are.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class TopicReader(Protocol):
    """Reads raw records, outside of a topology (tailing, checks)."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[RawRecord]:
        """Yield records with `start <= offset < end` in offset order, without waiting."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class TopicWriter(Protocol):
    """Appends raw records."""

    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
        """Queue a record; wait while the queue is full.

        Args:
            topic: The topic's name.
            partition: One of its partitions.
            key: Null or bytes.
            value: Bytes, or null for a tombstone.
            timestamp: Milliseconds since the epoch.
            headers: Pairs of name and value.

        Returns:
            A future of the position; it resolves when the record is durable, or raises the reason
            why it is not.

        Raises:
            KStreamsError: The topic has no such partition, the record cannot be written, or the
                writer is closed.
        """
        ...

    def flush(self) -> None:
        """Wait until all records queued before the call are durable.

        Raises:
            KStreamsError: The first failure since the last flush; the futures of the failed records
                have it too.
        """
        ...

    def close(self) -> None:
        """Flush, then close the connections; raises the errors of `flush`. May be repeated."""
        ...


class Pending(Future[Appended]):
    """The future of a queued record, which cannot be cancelled."""

    @override
    def cancel(self) -> bool:
        return False


class RecordWriter(TopicWriter):
    """The base of writers that queue records and write them on a background thread.

    Threads may share a writer. The writes of one thread to a partition have offsets in the same
    order. Queued records are flushed at the end of the process.

    Derived classes call `__init__` last, because it starts the thread.

    Args:
        thread_name: The name of the thread.
    """

    def __init__(self, thread_name: str) -> None:
        self._failure: KStreamsError | None = None
        self._failure_lock = Lock()
        self._thread = Thread(target=self._run, name=thread_name, daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @override
    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
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
        """Queue a record as `write` does, without a future; the next `flush` raises a failure.

        This takes a tenth of the time of `write`: a future is several objects for the garbage
        collector.
        """
        self._put(topic, partition, key, value, timestamp, headers, None)

    @override
    def flush(self) -> None:
        self._wait()
        self._raise_failure()

    @override
    def close(self) -> None:
        atexit.unregister(self.close)
        self._stop()
        self._raise_failure()

    @abstractmethod
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
        """Queue a record; resolve its future, if any, when the record is durable."""

    @abstractmethod
    def _run(self) -> None:
        """Write queued records, until the writer is closed."""

    @abstractmethod
    def _wait(self) -> None:
        """Wait until all queued records are durable or failed."""

    @abstractmethod
    def _stop(self) -> None:
        """Wait as `_wait` does, then stop the thread. May be repeated."""

    def _note_failure(self, error: KStreamsError) -> None:
        """Keep the first failure for the next flush."""
        with self._failure_lock:
            self._failure = self._failure or error

    def _raise_failure(self) -> None:
        with self._failure_lock:
            failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


class Connection(Protocol):
    """Settings of Kafka or embedded topics. Small, picklable, and its `repr` has no secrets."""

    def admin(self) -> TopicAdmin:
        """Open a `TopicAdmin`."""
        ...

    def reader(self) -> TopicReader:
        """Open a `TopicReader`."""
        ...

    def writer(self) -> TopicWriter:
        """Open a `TopicWriter`."""
        ...
