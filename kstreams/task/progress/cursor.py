"""The position of a task in its batch; shared by all contexts of the task."""

from __future__ import annotations

from collections.abc import Callable

from kstreams.ids import TopicPartition
from kstreams.record import RecordMetadata
from kstreams.task.progress.drop_sample import DropSample, RecordPlace
from kstreams.task.records.rows import MergedRows

__all__ = ("Cursor",)

_MOST_SAMPLES = 5
"""The maximum number of samples of dropped records, for each node and reason in a batch."""


class Cursor:
    """The current record, if any, and the current times.

    Attributes:
        rows: The iterator that has yielded the current record; None in punctuators and flushes.
        stream_time: The highest timestamp so far, ms.
        idle_time: The last stream time that idleness set, ms; -1 if idleness never set it.
        wall_time: The recorded wall time of the batch, ms.
        dropped: The count of dropped records by node and reason.
        samples: Samples of dropped records, with topic, partition and offset.
        least_hops: The loop passes of records without an origin: the minimum of any record in the
            batch.
        place: The number of records that the task has processed, in all batches, before the current
            part of this batch.
        on_drop: Called for each drop with node, reason and count; None without a `Watch`.
    """

    __slots__ = (
        "dropped",
        "idle_time",
        "least_hops",
        "on_drop",
        "place",
        "rows",
        "samples",
        "stream_time",
        "wall_time",
    )

    def __init__(self, stream_time: int, wall_time: int) -> None:
        self.rows: MergedRows | None = None
        self.stream_time = stream_time
        self.idle_time = -1
        self.wall_time = wall_time
        self.dropped: dict[tuple[str, str], int] = {}
        self.samples: tuple[DropSample, ...] = ()
        self.least_hops = 0
        self.place = 0
        self.on_drop: Callable[[str, str, int], None] | None = None

    def begin(self, wall_time: int) -> None:
        """Begin a batch, and clear the dropped records."""
        self.wall_time, self.rows = wall_time, None
        self.dropped, self.samples = {}, ()

    def drop(self, node: str, reason: str, count: int = 1, at: RecordPlace | None = None) -> None:
        """Count dropped records of a node, and add the first dropped records to the samples.

        Args:
            node: The node.
            reason: The reason.
            count: The number of records.
            at: The partition and offset of the first dropped record; by default, of the current
                record.
        """
        counted = node, reason
        before = self.dropped.get(counted, 0)
        self.dropped[counted] = before + count
        if self.on_drop is not None:
            self.on_drop(node, reason, count)
        if before < _MOST_SAMPLES:
            place = at or self._present_place()
            if place is not None:
                self.samples += (DropSample(node, reason, *place),)

    def uncount(self, node: str, reason: str, count: int) -> None:
        """Revert the count of `drop` for records that a later batch gets again."""
        left = self.dropped[node, reason] - count
        if left:
            self.dropped[node, reason] = left
        else:
            del self.dropped[node, reason]

    def _present_place(self) -> RecordPlace | None:
        record = self.metadata()
        if record is None:
            return None
        return TopicPartition(record.topic, record.partition), record.offset

    def dropped_by(self, node: str) -> dict[str, int]:
        """Return the number of records that a node has dropped, by reason."""
        return {reason: n for (name, reason), n in self.dropped.items() if name == node}

    def hops(self) -> int:
        """Return the number of loop passes of the current record or its origin."""
        return self.least_hops if self.rows is None else self.rows.hops()

    def metadata(self) -> RecordMetadata | None:
        """Return the metadata of the current record; None in punctuators and flushes."""
        if self.rows is None:
            return None
        stream, row = self.rows.present()
        return stream.metadata(row)
