"""The interface of a place for topics: Kafka or embedded topics.

`Embedded("data/")` and `Kafka("broker:9092")` are settings; both are a `Connection`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol

from kstreams.record import Headers

__all__ = (
    "Appended",
    "Connection",
    "RawRecord",
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
    """Look at topics and change them. All methods raise `UnknownTopicError` by name."""

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics of users, sorted."""
        ...

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has."""
        ...

    def create(
        self, topic: str, partitions: int, *, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic; `TopicExistsError` when it is there already."""
        ...

    def delete(self, topic: str) -> None:
        """Delete a topic and its records."""
        ...

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first offset still there, by partition."""
        ...

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition."""
        ...

    def ends(self, topic: str) -> TopicEnds:
        """Return the end offsets and the topic id with one request."""
        ...

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset with a timestamp not before the given one.

        A partition without such a record gives its end offset.
        """
        ...

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and timestamp of the first record not before a time, by partition.

        Partitions are pairs of topic and number. No record of a partition before that offset
        has this time or a later one. One request, however many partitions and topics. Left
        out is a partition that has no such record.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class TopicReader(Protocol):
    """Read raw records, outside of a topology (tailing, checks)."""

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[RawRecord]:
        """Yield records with `start <= offset < end` in offset order, without waiting."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class TopicWriter(Protocol):
    """Append raw records."""

    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
        """Queue a record; the future resolves when it is durable, or raises why not."""
        ...

    def flush(self) -> None:
        """Wait until all that was queued is durable."""
        ...

    def close(self) -> None:
        """Flush, then let go."""
        ...


class Connection(Protocol):
    """A place where topics live. Small, picklable, and never shows secrets."""

    def admin(self) -> TopicAdmin:
        """Open the administrative side."""
        ...

    def reader(self) -> TopicReader:
        """Open the reading side."""
        ...

    def writer(self) -> TopicWriter:
        """Open the writing side."""
        ...
