"""A scripted in-memory intake, and topics whose writes fail on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

from kstreams.connection import Appended, RawRecord, TopicAdmin, TopicReader, TopicWriter
from kstreams.embedded.connection import Embedded
from kstreams.errors import KStreamsError
from kstreams.intakes import Delivery, Gaps, Intake, LastMessage, Receiver
from kstreams.record import Headers

__all__ = ("FailingTopics", "Scripted", "records_of")


@dataclass
class Scripted(Intake):
    """An intake with a queue:

    messages that are given back come again at its end; receipts increase.
    """

    name: str = "scripted"
    queue: deque[Delivery] = field(default_factory=deque)
    settled: list[bytes] = field(default_factory=list)
    rejected: list[tuple[bytes, str]] = field(default_factory=list)
    returned: list[bytes] = field(default_factory=list)
    errors: deque[Exception] = field(default_factory=deque)
    opened: list[LastMessage | None] = field(default_factory=list)
    closed: int = 0
    gaps: Gaps = field(default_factory=Gaps)
    receipts: int = 0
    tells_sender: ClassVar[bool] = False

    def put(self, *values: bytes, ids: Iterable[str | None] = ()) -> None:
        given = [*ids, *[None] * len(values)]
        for value, identity in zip(values, given, strict=False):
            self.add(Delivery(value, 0, identity))

    def add(self, delivery: Delivery) -> None:
        self.queue.append(delivery)

    def open(self, last: LastMessage | None) -> Receiver:
        self.opened.append(last)
        return _Receiver(self)


class _Receiver(Receiver):
    def __init__(self, source: Scripted) -> None:
        self._source = source
        self._open: dict[int, Delivery] = {}

    def receive(self, limit: int, wait: timedelta) -> Sequence[Delivery]:
        source = self._source
        if source.errors:
            raise source.errors.popleft()
        found: list[Delivery] = []
        while source.queue and len(found) < limit:
            came = source.queue.popleft()
            source.receipts += 1
            told = Delivery(
                came.value, source.receipts, came.id, came.key, came.timestamp, came.headers
            )
            self._open[told.receipt] = came
            found.append(told)
        return found

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        self._source.settled += [self._open.pop(each.receipt).value for each in deliveries]

    def reject(self, delivery: Delivery, reason: str) -> None:
        self._source.rejected.append((self._open.pop(delivery.receipt).value, reason))

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        for each in deliveries:
            came = self._open.pop(each.receipt)
            self._source.returned.append(came.value)
            self._source.queue.append(came)

    def close(self) -> None:
        self._source.closed += 1
        self._source.queue.extendleft(reversed(self._open.values()))
        self._open.clear()

    @property
    def gaps(self) -> Gaps:
        return self._source.gaps


@dataclass(frozen=True)
class FailingTopics:
    """Embedded topics; `fail` returns the error of a record, or None."""

    inner: Embedded
    fail: Callable[[str, bytes | None], KStreamsError | None]

    def ensure(self, topic: str) -> int:
        return self.inner.ensure(topic)

    def admin(self) -> TopicAdmin:
        return self.inner.admin()

    def reader(self) -> TopicReader:
        return self.inner.reader()

    def writer(self) -> TopicWriter:
        return _FailingWriter(self.inner.writer(), self.fail)


class _FailingWriter:
    def __init__(
        self, inner: TopicWriter, fail: Callable[[str, bytes | None], KStreamsError | None]
    ) -> None:
        self._inner = inner
        self._fail = fail

    def write(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers = (),
    ) -> Future[Appended]:
        error = self._fail(topic, value)
        if error is None:
            return self._inner.write(topic, partition, key, value, timestamp, headers)
        failed: Future[Appended] = Future()
        failed.set_exception(error)
        return failed

    def flush(self) -> None:
        self._inner.flush()

    def close(self) -> None:
        self._inner.close()


def records_of(place: Path | str, topic: str) -> list[RawRecord]:
    """Return the records of a topic, by partition."""
    topics = Embedded(place)
    reader = topics.reader()
    return [
        record
        for partition, end in sorted(topics.admin().end_offsets(topic).items())
        for record in reader.read(topic, partition, 0, end)
    ]
