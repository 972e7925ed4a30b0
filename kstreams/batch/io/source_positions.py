"""The interface of sources for the planner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from kstreams.connection import TopicEnds

__all__ = ("SourcePositions",)


class SourcePositions(Protocol):
    """The start and end positions of sources, by name. The reading part of a `TopicAdmin`."""

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a source has."""
        ...

    def ends(self, topic: str) -> TopicEnds:
        """Return which one it is, and the offset after the last record, by partition."""
        ...

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first offset still there, by partition."""
        ...

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the offset after the last record, by partition."""
        ...

    def offsets_at(self, topic: str, timestamp_ms: int) -> dict[int, int]:
        """Return the first offset with a timestamp not before a time, or the end."""
        ...

    def first_since(
        self, places: Iterable[tuple[str, int]], timestamp_ms: int
    ) -> dict[tuple[str, int], tuple[int, int]]:
        """Return offset and time of the first record not before a time, by partition."""
        ...
