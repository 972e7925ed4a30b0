"""Where a task is in its batch; shared by all contexts of the task."""

from __future__ import annotations

from collections.abc import Callable

from kstreams.record import RecordMetadata
from kstreams.task.rows import MergedRows

__all__ = ("Cursor",)


class Cursor:
    """The present record, if any, and the present times.

    Attributes:
        rows: What the present record was taken from; None in punctuators and flushes.
        stream_time: Highest timestamp so far, ms.
        idle_time: The stream time that idleness has moved to last, ms; -1 before.
        wall_time: The batch's recorded wall time, ms.
        dropped: Count of dropped records by node and reason.
        least_hops: How often what has no record to come of went round loops: the least that
            any record of the batch has.
        place: How many records came before the present part of the batch, in all batches.
        told: Is told of each drop, if anybody looks on: node, reason, count.
    """

    __slots__ = (
        "dropped",
        "idle_time",
        "least_hops",
        "place",
        "rows",
        "stream_time",
        "told",
        "wall_time",
    )

    def __init__(self, stream_time: int, wall_time: int) -> None:
        self.rows: MergedRows | None = None
        self.stream_time = stream_time
        self.idle_time = -1
        self.wall_time = wall_time
        self.dropped: dict[tuple[str, str], int] = {}
        self.least_hops = 0
        self.place = 0
        self.told: Callable[[str, str, int], None] | None = None

    def drop(self, node: str, reason: str, count: int = 1) -> None:
        """Count records that a node has dropped."""
        place = node, reason
        self.dropped[place] = self.dropped.get(place, 0) + count
        if self.told is not None:
            self.told(node, reason, count)

    def dropped_by(self, node: str) -> dict[str, int]:
        """Return how many records a node has dropped, by reason."""
        return {reason: n for (name, reason), n in self.dropped.items() if name == node}

    def hops(self) -> int:
        """Return how often the present record, or those that it comes of, went round loops."""
        return self.least_hops if self.rows is None else self.rows.hops()

    def metadata(self) -> RecordMetadata | None:
        """Return where the present record came from."""
        if self.rows is None:
            return None
        stream, row = self.rows.present()
        return stream.metadata(row)
