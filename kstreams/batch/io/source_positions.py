"""The start and end positions of sources, as an interface for the planner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kstreams.connection import TopicEnds

__all__ = ("SourcePositions",)


class SourcePositions(Protocol):
    """The start and end positions of sources, by name: the reading methods of a `TopicAdmin`."""

    def partition_count(self, topic: str) -> int:
        """Return the number of partitions of a source."""
        ...

    def ends(self, topic: str) -> TopicEnds:
        """Return the id of a source, and the offset after the last record of each partition."""
        ...

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first retained offset of each partition."""
        ...

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition."""
        ...

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset of each partition at or after a timestamp, or else the end."""
        ...

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return, by partition, the offset and time of the first record at or after a time."""
        ...
