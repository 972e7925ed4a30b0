"""Read the uncommitted offsets of an app from its topics."""

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
"""Maximum number of partitions, by largest lag, whose first uncommitted record is read."""


class EndOffsets(Protocol):
    """Returns the end offsets of topics."""

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition; raises `UnknownTopicError`."""
        ...


class Unread(NamedTuple):
    """The uncommitted offsets of a partition.

    Attributes:
        next_offset: Offset of the first uncommitted record.
        end_offset: The offset after the last record.
        oldest_ms: Timestamp of the first uncommitted record, ms since the epoch; None if there is
            no such record, or it is not known.
    """

    next_offset: int
    end_offset: int
    oldest_ms: int | None = None

    @property
    def records(self) -> int:
        """Number of uncommitted offsets.

        On Kafka, the offsets of transaction markers and of compacted records count too.
        """
        return max(self.end_offset - self.next_offset, 0)


def unread_of(
    connection: Connection, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Unread]:
    """Return the uncommitted offsets by partition, without deleted topics.

    Args:
        connection: The connection to the topics.
        positions: The next offset to read of each partition.

    Raises:
        KStreamsError: The topics cannot be read.
    """
    with closing(connection.admin()) as admin, closing(connection.reader()) as reader:
        return unread(admin, reader, positions)


def unread(
    ends: EndOffsets, reader: TopicReader, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Unread]:
    """Return the uncommitted offsets by partition, without deleted topics.

    The first record of the 64 partitions with the largest lag is read for its timestamp.

    Args:
        ends: Returns the end offsets of topics or logs.
        reader: Reads topics.
        positions: The next offset to read of each partition.

    Raises:
        KStreamsError: The topics cannot be read.
    """
    found: dict[TopicPartition, Unread] = {}
    for topic in sorted({place.topic for place in positions}):
        try:
            present = ends.end_offsets(topic)
        except KStreamsError as exc:
            _LOG.warning("the end offsets of topic %r cannot be read: %s", topic, exc.message)
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
    """Return the timestamp of the first record; None if it cannot be read, as for logs."""
    try:
        rows = reader.read(place.topic, place.partition, found.next_offset, found.end_offset)
        first = next(iter(rows), None)
    except KStreamsError:
        return None
    return None if first is None else first.timestamp
