"""What topics have that an app has not committed, asked of the topics themselves."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import closing
from heapq import nlargest
from typing import NamedTuple, Protocol

from kstreams.connection import Connection, TopicReader
from kstreams.errors import KStreamsError
from kstreams.ids import TopicPartition

__all__ = ("EndOffsets", "Unread", "unread", "unread_of")

_LOG = logging.getLogger(__name__)
_MOST_READ = 64
"""Of how many partitions the first record is read, each time: those that are furthest behind."""


class EndOffsets(Protocol):
    """Tells where topics end."""

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition; raises `UnknownTopicError`."""
        ...


class Unread(NamedTuple):
    """What a partition has that is not committed.

    Attributes:
        next_offset: Of the first record that is not committed.
        end_offset: The offset after the last record.
        oldest_ms: The first one's timestamp, ms since the epoch; None: not known, or there is none.
    """

    next_offset: int
    end_offset: int
    oldest_ms: int | None = None

    @property
    def records(self) -> int:
        """How many offsets that is.

        On Kafka the markers of transactions, and records that compaction has removed, are among
        them.
        """
        return max(self.end_offset - self.next_offset, 0)


def unread_of(
    connection: Connection, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Unread]:
    """Return what is not read, by partition; without topics that are gone.

    Args:
        connection: Where the topics are.
        positions: Where reading goes on.

    Raises:
        KStreamsError: The topics cannot be asked.
    """
    with closing(connection.admin()) as admin, closing(connection.reader()) as reader:
        return unread(admin, reader, positions)


def unread(
    ends: EndOffsets, reader: TopicReader, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Unread]:
    """Return what is not read, by partition; without topics that are gone.

    The first record is read of the 64 partitions that are furthest behind, for its time.

    Args:
        ends: Tells where topics, or logs, end.
        reader: Reads topics.
        positions: Where reading goes on.

    Raises:
        KStreamsError: The topics cannot be asked.
    """
    found: dict[TopicPartition, Unread] = {}
    for topic in sorted({place.topic for place in positions}):
        try:
            present = ends.end_offsets(topic)
        except KStreamsError as exc:
            _LOG.warning("topic %r cannot be asked for its ends: %s", topic, exc.message)
            continue
        for place, position in positions.items():
            end = present.get(place.partition)
            if place.topic == topic and end is not None:
                found[place] = Unread(position, end)
    behind = (place for place, each in found.items() if each.records)
    for place in nlargest(_MOST_READ, behind, key=lambda each: found[each].records):
        found[place] = found[place]._replace(oldest_ms=_oldest(reader, place, found[place]))
    return found


def _oldest(reader: TopicReader, place: TopicPartition, found: Unread) -> int | None:
    """Return the timestamp of the first record; None where it cannot be read, as of a log."""
    try:
        rows = reader.read(place.topic, place.partition, found.next_offset, found.end_offset)
        first = next(iter(rows), None)
    except KStreamsError:
        return None
    return None if first is None else first.timestamp
