"""The known segments of a partition, in offset order."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from kstreams.embedded.segment import Segment

__all__ = ("Listing",)


class Listing:
    """The contiguous segments of a partition, for lookups by offset and by batch.

    Segments are only added at the end. Not thread-safe: the owner must hold a lock.
    """

    __slots__ = ("_batches", "_ends", "_segments", "names")

    def __init__(self) -> None:
        self._segments: list[Segment] = []
        self._ends: list[int] = []
        self._batches: dict[tuple[str, int], Segment] = {}
        self.names: set[str] = set()

    @property
    def last_name(self) -> str:
        """File name of the newest segment; empty without segments."""
        return self._segments[-1].name if self._segments else ""

    @property
    def beginning_offset(self) -> int:
        """The first existing offset; 0 without segments."""
        return self._segments[0].first_offset if self._segments else 0

    @property
    def end_offset(self) -> int:
        """The offset after the last row; 0 without segments."""
        return self._ends[-1] if self._ends else 0

    def newest(self, count: int) -> list[str]:
        """Return the file names of the last segments, newest first, at most `count`."""
        return [segment.name for segment in self._segments[: -count - 1 : -1]]

    def append(self, segment: Segment) -> bool:
        """Add a segment if it starts where the last segment ends; return whether it does."""
        if self._segments and segment.first_offset != self._ends[-1]:
            return False
        self._segments.append(segment)
        self._ends.append(segment.end_offset)
        self._batches[segment.producer, segment.batch] = segment
        self.names.add(segment.name)
        return True

    def extend(self, segments: Iterable[Segment]) -> Segment | None:
        """Add segments in offset order; return the first one that leaves a gap or overlaps."""
        for segment in sorted(segments, key=_first_offset):
            if not self.append(segment):
                return segment
        return None

    def find(self, producer: str, batch: int) -> Segment | None:
        """Return the segment of a producer's batch; None if it is not published."""
        return self._batches.get((producer, batch))

    def since(self, start_offset: int) -> tuple[Segment, ...]:
        """Return the segments with rows at or after `start_offset`."""
        return tuple(self._segments[bisect_right(self._ends, start_offset) :])


def _first_offset(segment: Segment) -> int:
    return segment.first_offset
