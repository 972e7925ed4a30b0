"""List dead letters page by page, newest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeVar

from kstreams.connection import Connection, RawRecord
from kstreams_dead_letters.letter import Letter
from kstreams_dead_letters.offset_ranges import OffsetRanges
from kstreams_dead_letters.replaying import redelivery_of

__all__ = ("LetterPage", "letters_before")

T = TypeVar("T")
"""The result of `make` for a dead letter."""


@dataclass(frozen=True)
class LetterPage(Generic[T]):
    """A page of dead letters.

    Attributes:
        letters: The letters as converted by `letters_before(make=...)`, newest first.
        before: The exclusive end offsets of the next page, by partition; empty on the last page.
        total: Number of offsets of the topic; on Kafka, the maximum number of records.
    """

    letters: list[T]
    before: Mapping[int, int]
    total: int


def letters_before(
    connection: Connection,
    topic: str,
    count: int,
    make: Callable[[Letter, bool], T],
    *,
    before: Mapping[int, int] | None = None,
) -> LetterPage[T]:
    """Return a page of dead letters, from the end of each partition to its start.

    Partitions are merged by time, latest first; the time is the timestamp of the record, if the
    topic keeps it. At most `count` records of each partition are read.

    Args:
        connection: The connection to the topic.
        topic: Name of the topic.
        count: Maximum number of letters; on Kafka a page may have fewer although more exist.
        make: Called with each letter and whether it was replayed. Only the result is kept.
        before: Exclusive end offsets by partition, from the previous page; None for the end of the
            topic.

    Raises:
        UnknownTopicError: The topic does not exist.
        StateCorruptError: The record of replayed offsets cannot be read.
        KStreamsError: The topic cannot be read.
    """
    with closing(redelivery_of(connection, topic)) as redelivery:
        done = {place: OffsetRanges.parse(text) for place, text in redelivery.peek().items()}
    with closing(connection.admin()) as admin:
        starts, ends = admin.beginning_offsets(topic), admin.end_offsets(topic)
    total = sum(max(0, end - starts[place]) for place, end in ends.items())
    if before is not None:
        ends = {place: min(end, before.get(place, starts[place])) for place, end in ends.items()}
    with closing(connection.reader()) as reader:
        parts = [
            _Part(place, start, _made(reader.read(topic, place, start, end), done, make))
            for place, end in sorted(ends.items())
            if (start := max(starts[place], end - count)) < end
        ]
    found: list[T] = []
    while len(found) < count and (filled := [part for part in parts if part.letters]):
        found.append(max(filled, key=lambda part: part.letters[-1][0]).take())
    left = {part.partition: part.end for part in parts if part.end > starts[part.partition]}
    return LetterPage(found, left, total)


def _made(
    rows: Iterator[RawRecord], done: Mapping[int, OffsetRanges], make: Callable[[Letter, bool], T]
) -> Iterator[tuple[int, int, T]]:
    """Yield the time, the offset and the result of `make` for each letter."""
    for row in rows:
        is_done = row.partition in done and row.offset in done[row.partition]
        yield row.timestamp, row.offset, make(Letter.of(row), is_done)


class _Part(Generic[T]):
    """The last dead letters of a partition in memory; a listing takes the newest one first."""

    def __init__(self, partition: int, start: int, letters: Iterable[tuple[int, int, T]]) -> None:
        self._start = start
        self.partition = partition
        self.letters = list(letters)
        self.end = self.letters[-1][1] + 1 if self.letters else start

    def take(self) -> T:
        """Remove the newest letter, and return its converted form."""
        _, offset, letter = self.letters.pop()
        self.end = offset if self.letters else self._start
        return letter
