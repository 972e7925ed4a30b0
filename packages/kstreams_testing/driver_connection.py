"""The topics of the test driver as a `Connection`: for emitters and views of topics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future

from kstreams.connection import Appended, RawRecord, TopicAdmin, TopicEnds, TopicReader, TopicWriter
from kstreams.errors import TopicExistsError, UnknownTopicError
from kstreams.record import Headers
from kstreams_testing.driver_topics import DriverTopics

__all__ = ("DriverConnection",)


class DriverConnection:
    """The topics of one test driver. Implements `Connection` and `CreatesTopics`.

    The connection belongs to the driver's process and thread, and cannot be pickled.

    Args:
        topics: The driver's topics.
        run: Processes the written records.
    """

    def __init__(self, topics: DriverTopics, run: Callable[[], None]) -> None:
        self._topics = topics
        self._run = run

    def ensure(self, topic: str) -> int:
        """Return a topic's partition count, after creating it if it is missing."""
        return len(self._topics.records(topic))

    def admin(self) -> TopicAdmin:
        """Open a `TopicAdmin`."""
        return _DriverAdmin(self._topics)

    def reader(self) -> TopicReader:
        """Open a `TopicReader`."""
        return _DriverReader(self._topics)

    def writer(self) -> TopicWriter:
        """Open a `TopicWriter`."""
        return _DriverWriter(self._topics, self._run)


class _DriverAdmin:
    """Implements `TopicAdmin` on the driver's topics.

    Args:
        topics: The driver's topics.
    """

    def __init__(self, topics: DriverTopics) -> None:
        self._topics = topics

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics that records were written to, or that were created."""
        return self._topics.names()

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a topic."""
        return len(self._log(topic))

    def create(
        self, topic: str, partitions: int, *, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic; its settings have no effect."""
        if topic in self._topics.names():
            raise TopicExistsError(f"topic {topic!r} already exists")
        self._topics.create(topic, partitions)

    def delete(self, topic: str) -> None:
        """Delete a topic and its records."""
        self._log(topic)
        self._topics.delete(topic)

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return 0 for each partition."""
        return dict.fromkeys(range(self.partition_count(topic)), 0)

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition."""
        return {partition: len(rows) for partition, rows in enumerate(self._log(topic))}

    def ends(self, topic: str) -> TopicEnds:
        """Return the end offsets and the id of the topic."""
        return TopicEnds(self._topics.id_of(topic), self.end_offsets(topic))

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset with a timestamp at or after the given one, by partition."""
        return {
            partition: next((r.offset for r in rows if r.timestamp >= timestamp_ms), len(rows))
            for partition, rows in enumerate(self._log(topic))
        }

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and timestamp of the first record at or after a time, by partition."""
        found: dict[tuple[str, int], tuple[int, int]] = {}
        for topic, partition in places:
            for record in self._log(topic)[partition]:
                if record.timestamp >= timestamp_ms:
                    found[topic, partition] = record.offset, record.timestamp
                    break
        return found

    def close(self) -> None:
        """Do nothing: no connection is held."""

    def _log(self, topic: str) -> list[list[RawRecord]]:
        return _known(self._topics, topic)


class _DriverReader:
    """Implements `TopicReader` on the driver's topics.

    Args:
        topics: The driver's topics.
    """

    def __init__(self, topics: DriverTopics) -> None:
        self._topics = topics

    def read(self, topic: str, partition: int, start: int, end: int) -> Iterator[RawRecord]:
        """Yield records with `start <= offset < end` in offset order."""
        return iter(_known(self._topics, topic)[partition][start:end])

    def close(self) -> None:
        """Do nothing: no connection is held."""


class _DriverWriter:
    """Implements `TopicWriter` on the driver's topics; written records are processed immediately.

    Args:
        topics: The topics of the driver.
        run: Processes the written records.
    """

    def __init__(self, topics: DriverTopics, run: Callable[[], None]) -> None:
        self._topics = topics
        self._run = run
        self._queued = False

    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
        """Append a record, and process it as a batch of one.

        Raises:
            KStreamsError: Processing failed; the next batch processes the record again.
        """
        offset = self._append(topic, partition, key, value, timestamp, headers)
        self._run()
        appended: Future[Appended] = Future()
        appended.set_result(Appended(topic, partition, offset))
        return appended

    def enqueue(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> None:
        """Append a record; the next `flush` processes all queued records as one batch."""
        self._append(topic, partition, key, value, timestamp, headers)
        self._queued = True

    def flush(self) -> None:
        """Process the queued records as one batch."""
        if self._queued:
            self._queued = False
            self._run()

    def close(self) -> None:
        """Process the queued records; see `flush`."""
        self.flush()

    def _append(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
    ) -> int:
        self._topics.ensure(topic)
        log = _known(self._topics, topic)
        self._topics.check(topic, partition)
        self._topics.add((topic, [(partition, timestamp, key, value, headers)]))
        return len(log[partition]) - 1


def _known(topics: DriverTopics, topic: str) -> list[list[RawRecord]]:
    """Return the records of a topic by partition.

    Raises:
        UnknownTopicError: The driver has no such topic.
    """
    if topic not in topics.names():
        known = ", ".join(map(repr, topics.names())) or "none"
        raise UnknownTopicError(f"the test driver has no topic {topic!r}; it has {known}")
    return topics.records(topic)
