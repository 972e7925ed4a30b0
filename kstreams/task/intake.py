"""What of a batch's input a task processes now: not again, not too early, in the task's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.state.log.totals import SourceRead
from kstreams.task.holding import HeldBack, Holding, timely
from kstreams.task.meta import TaskMeta
from kstreams.task.queues import Queue

__all__ = ("Intake",)


class Intake:
    """Takes in the queues of a task's batches, and notes how far its sources are processed.

    Args:
        group: The task's.
        entries: Names of its entries, in their order.
        meta: Where the task goes on in each source partition; changed in place.
        running_maxima: `EventTimes.running_maxima`.
    """

    def __init__(
        self,
        group: PartitionGroup,
        entries: Sequence[str],
        meta: TaskMeta,
        running_maxima: Callable[[Queue], npt.NDArray[np.int64] | None],
    ) -> None:
        tables = group.table_entries
        ranks = sorted(entries, key=lambda name: name not in tables)
        self._ranks = {name: number for number, name in enumerate(ranks)}
        self._sources = {node.name for node in group.nodes if isinstance(node, SourceNode)}
        self._meta = meta
        self._running_maxima = running_maxima

    def take(
        self, queues: Sequence[Queue], holding: Holding | None
    ) -> tuple[list[Queue], dict[TopicPartition, HeldBack], tuple[SourceRead, ...]]:
        """Return the queues with records to process, ordered, and where others wait.

        What was read of sources comes last.

        Args:
            queues: The batch's.
            holding: Which of them wait for a later batch; None: none.
        """
        fresh = [self._fresh(queue) for queue in sorted(queues, key=self._place)]
        rows = [each for each in fresh if each.table.num_rows]
        now, held = timely(rows, holding, self._running_maxima)
        for queue in now:
            if queue.entry in self._sources:
                last: int = queue.table.column("offset")[-1].as_py()
                self._meta.next_offsets[queue.topic_partition] = last + 1
        reads = (self._read(queue, held) for queue in rows if queue.entry in self._sources)
        return now, held, tuple(reads)

    def _read(self, queue: Queue, held: Mapping[TopicPartition, HeldBack]) -> SourceRead:
        rows, back = queue.table.num_rows, held.get(queue.topic_partition)
        taken = rows if back is None else back.passed
        return SourceRead(queue.entry, queue.topic_partition, rows, taken)

    def _place(self, queue: Queue) -> tuple[int, int]:
        return self._ranks[queue.entry], queue.partition

    def _fresh(self, queue: Queue) -> Queue:
        """Leave out what was processed before."""
        if queue.entry not in self._sources:
            return queue
        return queue.since(self._meta.next_offsets.get(queue.topic_partition, 0))
