"""The administrative side of embedded topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kstreams.connection import TopicEnds
from kstreams.embedded.log import EmbeddedLog

__all__ = ("EmbeddedAdmin",)


class EmbeddedAdmin:
    """Implements `kstreams.connection.TopicAdmin` on a log.

    Args:
        log: The topics.
    """

    def __init__(self, log: EmbeddedLog) -> None:
        self._log = log

    def topics(self) -> tuple[str, ...]:
        """Return the names of all topics, sorted."""
        return self._log.topics()

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has, or raise `UnknownTopicError`."""
        return self._log.topic(topic).partitions

    def create(
        self, topic: str, partitions: int, *, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic; `TopicExistsError` when it is there already."""
        self._log.create(topic, partitions, config=config)

    def delete(self, topic: str) -> None:
        """Delete a topic with its records, or raise `UnknownTopicError`."""
        self._log.delete(topic)

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first offset still there, by partition."""
        count = self.partition_count(topic)
        return {n: self._log.beginning_offset(topic, n) for n in range(count)}

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition."""
        return self.ends(topic).offsets

    def ends(self, topic: str) -> TopicEnds:
        """Return the end offsets, and the id that the topic got at its creation."""
        info = self._log.topic(topic)
        offsets = {n: self._log.end_offset(topic, n) for n in range(info.partitions)}
        return TopicEnds(info.incarnation, offsets)

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset with a timestamp not before the given one."""
        return self._log.offsets_at(topic, timestamp_ms)

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and timestamp of the first record not before a time, by partition."""
        found = {place: self._log.first_since(*place, timestamp_ms) for place in places}
        return {place: first for place, first in found.items() if first is not None}

    def close(self) -> None:
        """Do nothing: no connection is held."""
