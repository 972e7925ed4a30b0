"""Write the records of dead letters back to their topics, each record once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Protocol

from kstreams.connection import Connection, RawRecord, TopicAdmin, TopicReader
from kstreams.embedded.connection import Embedded
from kstreams.errors import CompileError, DataLossError, UnknownTopicError
from kstreams.partitioner import partition_of
from kstreams_dead_letters.embedded_redelivery import EmbeddedRedelivery
from kstreams_dead_letters.letter import Letter
from kstreams_dead_letters.offset_ranges import OffsetRanges

__all__ = ("Choice", "Redelivery", "ReplayReport", "redelivery_of", "replay_letters")

_AT_ONCE = 1_000


class Redelivery(Protocol):
    """Writes records of one topic to other topics and stores their offsets, atomically."""

    def open(self) -> dict[int, str]:
        """Lock out other processes, finish an interrupted `send`, and return replayed offsets."""
        ...

    def peek(self) -> dict[int, str]:
        """Return the replayed offsets by partition, without a lock and without changes."""
        ...

    def send(self, records: Sequence[RawRecord], done: Mapping[int, str]) -> None:
        """Write records and store the replayed offsets by partition, atomically."""
        ...

    def close(self) -> None:
        """Release the lock."""
        ...


@dataclass(frozen=True)
class Choice:
    """The dead letters to replay.

    Attributes:
        where: Patterns of failure headers, by name without `kstreams-error-`: `class`, `message`,
            `node`, `topic`, `partition`, `offset`; with wildcards `*` and `?`.
        max_attempts: Letters with this number of replays, or more, are not replayed.
    """

    where: Mapping[str, str] = field(default_factory=dict)
    max_attempts: int = 3


@dataclass
class ReplayReport:
    """The result of a replay or of a dry run.

    Attributes:
        sent: Number of replayed records, by failure class and topic.
        left: Number of letters that were not replayed, by reason: `already replayed`,
            `not chosen`, ...
    """

    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, object]:
        """Return `{sent: [{class, topic, records}], left: {reason: records}}`."""
        return {
            "sent": [
                {"class": kind, "topic": topic, "records": count}
                for (kind, topic), count in sorted(self.sent.items())
            ],
            "left": dict(sorted(self.left.items())),
        }


def redelivery_of(connection: Connection, topic: str) -> Redelivery:
    """Return the `Redelivery` for a topic.

    Raises:
        UnknownTopicError: The topic does not exist.
        CompileError: This kind of connection has no redelivery.
    """
    if isinstance(connection, Embedded):
        return EmbeddedRedelivery(connection.log(), topic)
    from kstreams_kafka.options import Kafka  # noqa: PLC0415  # needs the extra `kafka`
    from kstreams_kafka.redelivery import KafkaRedelivery  # noqa: PLC0415

    if isinstance(connection, Kafka):
        with closing(connection.admin()) as admin:
            return KafkaRedelivery(connection, topic, admin.partition_count(topic))
    raise CompileError(
        f"dead letters on {connection!r} cannot be replayed, expected Embedded(...) or Kafka(...)"
    )


def replay_letters(
    connection: Connection, topic: str, choice: Choice | None = None, *, dry_run: bool = False
) -> ReplayReport:
    """Write the records of a topic's dead letters back to their topics and partitions.

    Each record is written with its key, value, time and original headers, and with the header
    `kstreams-replay`, the number of replays. For a truncated letter the original record is written,
    if it still exists; a rejected result is written to the partition of its key. Letters that
    arrive during the replay are not replayed.

    The replayed offsets are stored atomically with the records, so no record is written twice after
    a crash: see `EmbeddedRedelivery` and `KafkaRedelivery`.

    Args:
        connection: The connection to the topics.
        topic: The dead-letter topic.
        choice: The letters to replay; by default all letters with fewer than three replays.
        dry_run: Count the letters, and change nothing.

    Raises:
        UnknownTopicError: The topic does not exist.
        AppLockedError: Another process replays letters of the topic.
        KStreamsError: A topic rejects a record; earlier records were replayed.
    """
    redelivery = redelivery_of(connection, topic)
    with closing(redelivery), closing(connection.admin()) as admin:
        known = redelivery.peek() if dry_run else redelivery.open()
        with closing(connection.reader()) as reader:
            run = _Replay(redelivery, reader, admin, choice or Choice(), dry_run=dry_run)
            for partition, end in sorted(admin.end_offsets(topic).items()):
                start = admin.beginning_offsets(topic)[partition]
                done = OffsetRanges.parse(known.get(partition, ""))
                run.partition(partition, reader.read(topic, partition, start, end), done)
    return run.report


class _Replay:
    """Replays a dead-letter topic once, and counts the letters for a `ReplayReport`."""

    def __init__(
        self,
        redelivery: Redelivery,
        reader: TopicReader,
        admin: TopicAdmin,
        choice: Choice,
        *,
        dry_run: bool,
    ) -> None:
        self.report = ReplayReport()
        self._redelivery = redelivery
        self._reader = reader
        self._admin = admin
        self._choice = choice
        self._dry_run = dry_run
        self._counts: dict[str, int | None] = {}

    def partition(self, partition: int, rows: Iterator[RawRecord], done: OffsetRanges) -> None:
        """Replay the letters of a partition in order."""
        batch: list[tuple[Letter, RawRecord]] = []
        for row in rows:
            letter = Letter.of(row)
            reason = self._left(letter, done)
            record = None if reason else self._record(letter)
            if isinstance(record, RawRecord):
                batch.append((letter, record))
            else:
                self.report.left[reason or str(record)] += 1
            if len(batch) >= _AT_ONCE:
                self._send(partition, batch, done)
                batch = []
        self._send(partition, batch, done)

    def _send(
        self, partition: int, batch: Sequence[tuple[Letter, RawRecord]], done: OffsetRanges
    ) -> None:
        if batch and not self._dry_run:
            for letter, _ in batch:
                done.add(letter.row.offset)
            self._redelivery.send([record for _, record in batch], {partition: str(done)})
        for letter, record in batch:
            self.report.sent[letter.failure.get("class", ""), record.topic] += 1

    def _left(self, letter: Letter, done: OffsetRanges) -> str:
        """Return why a letter is not replayed; empty if it is."""
        if letter.row.offset in done:
            return "already replayed"
        if not letter.matches(self._choice.where):
            return "not chosen"
        if letter.attempts >= self._choice.max_attempts:
            return f"already replayed {letter.attempts} times"
        if not letter.topic:
            return "the record is not a dead letter: its headers name no topic"
        if self._partitions(letter.topic) is None:
            return f"topic {letter.topic!r} does not exist"
        return ""

    def _record(self, letter: Letter) -> RawRecord | str:
        """Return the record to write for a letter, or the reason why that is not possible."""
        count = self._partitions(letter.topic) or 1
        partition = letter.partition
        if partition is None:
            key = letter.row.key
            partition = letter.row.offset % count if key is None else partition_of(key, count)
        if partition >= count:
            return f"topic {letter.topic!r} no longer has partition {partition}"
        if not letter.is_cut:
            return letter.back(partition, letter.row.key, letter.row.value, letter.headers)
        found = self._whole(letter)
        if found is None:
            return "the dead letter is truncated, and the original record no longer exists"
        return letter.back(partition, found.key, found.value, found.headers)

    def _whole(self, letter: Letter) -> RawRecord | None:
        """Return the original record of a letter; None if it no longer exists."""
        partition, offset = letter.partition, letter.offset
        if partition is None or offset is None:
            return None
        try:
            rows = self._reader.read(letter.topic, partition, offset, offset + 1)
            return next((row for row in rows if row.offset == offset), None)
        except DataLossError:
            return None

    def _partitions(self, topic: str) -> int | None:
        """Return the number of partitions of a topic; None if the topic does not exist."""
        if topic not in self._counts:
            try:
                self._counts[topic] = self._admin.partition_count(topic)
            except UnknownTopicError:
                self._counts[topic] = None
        return self._counts[topic]
