"""Look at dead letters, the newest first, some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeVar

from kstreams.connection import Connection, RawRecord
from kstreams.dead_letters.letter import Letter
from kstreams.dead_letters.offset_ranges import OffsetRanges
from kstreams.dead_letters.replaying import redelivery_of

__all__ = ("LetterPage", "letters_before")

T = TypeVar("T")
"""What is made of a letter."""


@dataclass(frozen=True)
class LetterPage(Generic[T]):
    """Some dead letters of a topic.

    Attributes:
        letters: What was made of them, the newest first.
        before: Where the next ones end, by partition; empty where there are none.
        total: How many offsets the topic has: on Kafka that is records at most.
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
    """Return dead letters of a topic: those of each partition from its end to its start.

    Among partitions the one with the later time comes first; that is the record's own time, as
    far as the topic takes it. At most `count` records of each partition are read.

    Args:
        connection: Where the topic is.
        topic: Its name.
        count: How many letters at most; on Kafka there may be fewer though there are more.
        make: Called with each letter, and whether it was brought back; what it returns is all
            that is kept of one.
        before: The offsets to end before, by partition, as the page before says; None is the end.

    Raises:
        UnknownTopicError: There is no such topic.
        StateCorruptError: What was brought back cannot be read.
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
    """Yield time and offset of letters, and what is made of them."""
    for row in rows:
        is_done = row.partition in done and row.offset in done[row.partition]
        yield row.timestamp, row.offset, make(Letter.of(row), is_done)


class _Part(Generic[T]):
    """The last letters of a partition, taken from the end."""

    def __init__(self, partition: int, start: int, letters: Iterable[tuple[int, int, T]]) -> None:
        self._start = start
        self.partition = partition
        self.letters = list(letters)
        self.end = self.letters[-1][1] + 1 if self.letters else start

    def take(self) -> T:
        """Return the last one, and leave it out from now on."""
        _, offset, letter = self.letters.pop()
        self.end = offset if self.letters else self._start
        return letter
