"""Write typed records to a topic from any Python process, outside of a topology."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future
from datetime import datetime
from itertools import count
from types import TracebackType
from typing import Generic, Protocol, TypeVar, runtime_checkable

from typing_extensions import Self

from kstreams._types import K, V
from kstreams.clock import Clock, SystemClock, to_ms
from kstreams.connection import Appended, Connection
from kstreams.errors import SerializationError, Where
from kstreams.partitioner import target
from kstreams.quoting import repr_of, text_of
from kstreams.record import Headers, Record
from kstreams.serde.base import Serde
from kstreams.serde.framed import prepare
from kstreams.topic import Topic

__all__ = ("CreatesTopics", "Emitter", "WritesInBulk", "partition_count")

T = TypeVar("T")
"""Type of a key or a value."""

_Row = tuple[str, int, "bytes | None", "bytes | None", int, Headers]
_CHECK_EVERY = 1_000


@runtime_checkable
class CreatesTopics(Protocol):
    """A connection that creates a missing topic at the first write to it."""

    def ensure(self, topic: str) -> int:
        """Return a topic's partition count, after creating it if it is missing."""
        ...


@runtime_checkable
class WritesInBulk(Protocol):
    """A writer that can also queue records without a future for each record, which is faster."""

    def enqueue(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> None:
        """Queue a record; the next `flush` raises a failure."""
        ...


def partition_count(connection: Connection, topic: str) -> int:
    """Return the partition count of a topic before writing to it.

    Creates a missing topic if the connection is a `CreatesTopics`.

    Raises:
        UnknownTopicError: The topic does not exist, and the connection does not create it.
    """
    if isinstance(connection, CreatesTopics):
        return connection.ensure(topic)
    admin = connection.admin()
    try:
        return admin.partition_count(topic)
    finally:
        admin.close()


class Emitter(Generic[K, V]):
    """Appends typed records to one topic. Threads may share it; close it after use.

    The topic's partitioner chooses the partition from the key, as in a sink of a topology. Records
    without a key are distributed round-robin. A None value is a tombstone; it type-checks for a
    topic with `nulls="pass"`.

    Args:
        topic: The topic with its serdes.
        connection: The connection of the topic.
        clock: The clock for records without a timestamp; the machine's clock by default.

    Raises:
        UnknownTopicError: The topic does not exist, and the connection does not create topics.
        KStreamsError: A serde of the topic cannot write, for example because its schema is not
            registered.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from kstreams import INT64, TEXT, Embedded
        >>> orders = Topic("orders", key=TEXT, value=INT64)
        >>> with TemporaryDirectory() as root, Emitter(orders, Embedded(root)) as emitter:
        ...     emitter.emit("ann", 3, timestamp=1_000).result()
        Appended(topic='orders', partition=2, offset=0)
    """

    def __init__(
        self, topic: Topic[K, V], connection: Connection, *, clock: Clock | None = None
    ) -> None:
        self._topic = topic
        self._clock = clock or SystemClock()
        prepare(topic.key, topic.value, writes=True)
        self._partitions = partition_count(connection, topic.name)
        self._turns = count()
        self._writer = connection.writer()
        self._bulk = self._writer if isinstance(self._writer, WritesInBulk) else None

    def emit(
        self,
        key: K,
        value: V,
        *,
        timestamp: int | datetime | None = None,
        headers: Headers = (),
        partition: int | None = None,
    ) -> Future[Appended]:
        """Append a record.

        Args:
            key: None for a record without a key.
            value: None for a tombstone.
            timestamp: Event time: milliseconds since the epoch or an aware `datetime`; None means
                the clock's current time.
            headers: Pairs of name and value.
            partition: Overrides the topic's partitioner.

        Returns:
            A future that resolves to the record's position when the record is durable, or raises
            the reason why it is not.

        Raises:
            SerializationError: The key or value has another type than its serde writes; nothing was
                appended.
            ValueError: The timestamp is negative, or a `datetime` without a time zone.
        """
        return self._writer.write(
            *self._encoded(key, value, self._time(timestamp), headers, partition)
        )

    def emit_many(self, records: Iterable[tuple[K, V] | Record[K, V]]) -> int:
        """Append many records, and wait until all are durable.

        Args:
            records: Pairs of key and value, which get the clock's time, or whole records. The
                iterable is consumed record by record: its records need not fit in memory.

        Returns:
            The number of appended records.

        Raises:
            KStreamsError: As `emit`, or the error of the first failed record. Records before it are
                in the topic; later records may be.
        """
        outstanding: deque[Future[Appended]] = deque()
        total = 0
        for row in map(self._row, records):
            if self._bulk is not None:
                self._bulk.enqueue(*row)
            else:
                outstanding.append(self._writer.write(*row))
            total += 1
            if not total % _CHECK_EVERY:
                while outstanding and outstanding[0].done():
                    outstanding.popleft().result()
        self._writer.flush()
        for future in outstanding:
            future.result()
        return total

    def flush(self) -> None:
        """Wait until all emitted records are durable; raise the first failure."""
        self._writer.flush()

    def close(self) -> None:
        """Flush all records and close the connection. A second call does nothing."""
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _row(self, record: tuple[K, V] | Record[K, V]) -> _Row:
        if isinstance(record, Record):
            return self._encoded(
                record.key, record.value, record.timestamp, record.headers, partition=None
            )
        key, value = record
        return self._encoded(key, value, self._clock.now_ms(), (), partition=None)

    def _encoded(
        self, key: K, value: V, timestamp: int, headers: Headers, partition: int | None
    ) -> _Row:
        topic = self._topic
        key_bytes = self._serialize("key", topic.key, key, key)
        value_bytes = self._serialize("value", topic.value, value, key)
        key_bytes, value_bytes, headers = topic.framed(key_bytes, value_bytes, headers)
        if partition is None:
            partition = target(topic.partitioner, key_bytes, self._partitions, self._turns)
        return topic.name, partition, key_bytes, value_bytes, timestamp, headers

    def _serialize(self, part: str, serde: Serde[T], value: T, key: K) -> bytes | None:
        if value is None:
            return None
        try:
            return serde.serialize(value)
        except SerializationError as exc:
            exc.at(topic=self._topic.name, key=key)
            raise
        except (TypeError, ValueError, AttributeError, OverflowError) as exc:
            raise SerializationError(
                f"{repr_of(serde)} cannot serialize the {part}: {text_of(exc)}",
                where=Where(topic=self._topic.name, key=key),
            ) from exc

    def _time(self, timestamp: int | datetime | None) -> int:
        if timestamp is None:
            return self._clock.now_ms()
        return to_ms(timestamp) if isinstance(timestamp, datetime) else timestamp
