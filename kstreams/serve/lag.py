"""How far apps are behind their topics, asked of the topics: so it is known of dead apps, too."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from kstreams.connection import Connection
from kstreams.errors import KStreamsError
from kstreams.ids import TopicPartition

__all__ = ("Lag", "lag_of")

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Lag:
    """What a partition has that an app has not read.

    Attributes:
        records: How many offsets lie before the partition's end; on Kafka the markers of
            transactions, and records that compaction has removed, are among them.
        oldest_ms: The timestamp of the first record that is not read, ms since the epoch; None
            where there is none.
    """

    records: int
    oldest_ms: int | None


def lag_of(
    connection: Connection, positions: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Lag]:
    """Return how far reading is behind, by partition; without topics that are gone.

    Args:
        connection: Where the topics are.
        positions: Where reading goes on.

    Raises:
        KStreamsError: The topics cannot be asked.
    """
    found: dict[TopicPartition, Lag] = {}
    admin, reader = connection.admin(), connection.reader()
    try:
        for topic in sorted({place.topic for place in positions}):
            try:
                ends = admin.end_offsets(topic)
            except KStreamsError as exc:
                _LOG.warning("topic %r cannot be asked for its ends: %s", topic, exc.message)
                continue
            for place, position in positions.items():
                end = ends.get(place.partition)
                if place.topic == topic and end is not None:
                    behind = max(end - position, 0)
                    first = None
                    if behind:
                        rows = reader.read(topic, place.partition, position, end)
                        first = next(iter(rows), None)
                    found[place] = Lag(behind, None if first is None else first.timestamp)
    finally:
        reader.close()
        admin.close()
    return found
