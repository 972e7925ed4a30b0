"""The `TopicAdmin` of embedded topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from typing_extensions import override

from kstreams.connection import TopicAdmin, TopicEnds
from kstreams.embedded.log import EmbeddedLog

__all__ = ("EmbeddedAdmin",)


class EmbeddedAdmin(TopicAdmin):
    """Implements `kstreams.connection.TopicAdmin` on a log.

    Args:
        log: The embedded topics.
    """

    def __init__(self, log: EmbeddedLog) -> None:
        self._log = log

    @override
    def topics(self) -> tuple[str, ...]:
        return self._log.topics()

    @override
    def partition_count(self, topic: str) -> int:
        return self._log.topic(topic).partitions

    @override
    def create(
        self, topic: str, partitions: int, *, config: Mapping[str, str] | None = None
    ) -> None:
        self._log.create(topic, partitions, config=config)

    @override
    def delete(self, topic: str) -> None:
        self._log.delete(topic)

    @override
    def beginning_offsets(self, topic: str) -> dict[int, int]:
        count = self.partition_count(topic)
        return {n: self._log.beginning_offset(topic, n) for n in range(count)}

    @override
    def end_offsets(self, topic: str) -> dict[int, int]:
        return self.ends(topic).offsets

    @override
    def ends(self, topic: str) -> TopicEnds:
        info, offsets = self._log.end_offsets(topic)
        return TopicEnds(info.topic_id, offsets)

    @override
    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        return self._log.offsets_at(topic, timestamp_ms)

    @override
    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        found = {place: self._log.first_since(*place, timestamp_ms) for place in places}
        return {place: first for place, first in found.items() if first is not None}

    def close(self) -> None:
        """Do nothing: no connection is held."""
