"""Process a batch's records with the graph of a task, until no further record has an effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from kstreams.graph.nodes import SourceNode
from kstreams.ids import TopicPartition
from kstreams.task.buffer import BatchBuffer
from kstreams.task.input.key_placement import Placement
from kstreams.task.record_and_table_loop import BatchWork, RecordPass, TablePass
from kstreams.task.records.decoding import without_nulls
from kstreams.task.records.parts import parts
from kstreams.task.records.queues import Queue
from kstreams.task.records.unreadable import readable_rows, unreadable_rows
from kstreams.task.times.event_times import EventTimes

__all__ = ("BatchPass", "Left")

Left = Mapping[TopicPartition, int]
"""By source partition, the offset of the first record that was not processed."""


class BatchPass:
    """Processes the records of a task's batches.

    Args:
        work: The objects and functions of the task for `RecordPass` and `TablePass`.
        times: Sets the event times of records.
        placement: Checks that keys lie in the partitions of their topics.
        flush: Flushes the buffers of batch processors.

    Attributes:
        taken: The queues that are being processed.
        first_place: The number of the first record of these queues, in the merged order of all
            batches.
    """

    def __init__(
        self, work: BatchWork, times: EventTimes, placement: Placement, flush: Callable[[], None]
    ) -> None:
        self._work = work
        self._times = times
        self._placement = placement
        self._flush = flush
        self.taken: Sequence[Queue] = ()
        self.first_place = 0

    def run(self, queues: Sequence[Queue]) -> Left:
        """Process queues in merged order; return the first unprocessed offsets, if any remain.

        Processing stops after the record that reaches the limits of the task, if no further record
        can have an effect.
        """
        work = self._work
        readable = [self._readable(queue) for queue in queues]
        whole = [
            without_nulls(work.entries[each.entry], each, partial(work.cursor.drop, each.entry))
            for each in readable
        ]
        for queue in whole:
            self._placement.check(queue)
        timed = [self._times.timed(queue) for queue in whole]
        rows = [queue for queue in timed if queue.table.num_rows]
        if not rows:
            return {}
        takers = [taker for queue in rows for taker in work.wiring.takers(queue.entry)]
        by_table = all(isinstance(taker, BatchBuffer) for taker in takers)
        last: dict[TopicPartition, int] = {}
        for number, part in enumerate(parts(rows)):
            if work.limits.stops:
                break
            if number:
                self._flush()
            self.taken, self.first_place = part, work.cursor.place
            (TablePass if by_table else RecordPass)(work).run(part, last)
        return self._left(readable, last) if work.limits.stops else {}

    def _readable(self, queue: Queue) -> Queue:
        """Apply the policy to rows with unreadable headers or frames; return the other rows."""
        readable = readable_rows(queue.table)
        if readable is None:
            return queue
        for row, error in unreadable_rows(queue.table, readable):
            self._work.failed(queue, row, None, error)
        return queue.with_table(queue.table.filter(readable))

    def _left(self, queues: Sequence[Queue], last: Mapping[TopicPartition, int]) -> Left:
        """Return the offset of the first unprocessed record, by source partition.

        The counts of null records from this offset on are reverted: a later batch counts them.

        Args:
            queues: The queues of the batch, with the records that are dropped as null.
            last: The offset of the last processed record, by partition.
        """
        left: dict[TopicPartition, int] = {}
        for queue in queues:
            entry, place = self._work.entries[queue.entry], queue.topic_partition
            if not isinstance(entry, SourceNode):
                continue
            after = pc.greater(queue.table.column("offset"), last.get(place, -1))
            table: pa.Table = queue.table.filter(after)
            if table.num_rows:
                left[place] = table.column("offset")[0].as_py()
                uncount = partial(self._work.cursor.uncount, queue.entry)
                without_nulls(entry, queue.with_table(table), uncount)
        return left
