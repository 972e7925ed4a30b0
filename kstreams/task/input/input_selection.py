"""Select the records of a batch that a task processes now, without repeats, in the task's order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from kstreams.graph.nodes import SourceNode
from kstreams.graph.topology import PartitionGroup
from kstreams.ids import TopicPartition
from kstreams.state.log.totals import SourceRead
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.records.queues import Queue
from kstreams.task.times.holding import HeldBack, Holding, timely

__all__ = ("Intake",)


class Intake:
    """Selects records from the queues of a task's batches, and tracks the positions of its sources.

    Args:
        group: The group of the task.
        entries: The names of the task's sources, repartition edges and loops, in order.
        meta: The resume position of each source partition; changed in place.
        running_maxima: The method `EventTimes.running_maxima`.
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
        """Return the ordered queues to process, the held-back records, and the read ranges.

        Args:
            queues: The queues of the batch.
            holding: The rule for records that wait for a later batch; None: no record waits.
        """
        unprocessed = [self._unprocessed(queue) for queue in sorted(queues, key=self._place)]
        rows = [each for each in unprocessed if each.table.num_rows]
        now, held = timely(rows, holding, self._running_maxima)
        for queue in now:
            if queue.entry in self._sources:
                last: int = queue.table.column("offset")[-1].as_py()
                self._meta.next_offsets[queue.topic_partition] = last + 1
        reads = (self._read(queue, held) for queue in rows if queue.entry in self._sources)
        return now, held, tuple(reads)

    def leave(
        self,
        left: Mapping[TopicPartition, int],
        queues: Sequence[Queue],
        held: Mapping[TopicPartition, HeldBack],
        reads: tuple[SourceRead, ...],
    ) -> tuple[list[Queue], dict[TopicPartition, HeldBack], tuple[SourceRead, ...]]:
        """Return the result of `take` without the records that were not processed.

        Args:
            left: The offset of the first unprocessed record, by source partition.
            queues: The queues of `take`'s result.
            held: The held-back records of `take`'s result.
            reads: The read ranges of `take`'s result.
        """
        if not left:
            return list(queues), dict(held), reads
        taken, backs = list[Queue](), dict(held)
        for queue in queues:
            place = queue.topic_partition
            if queue.entry not in self._sources or place not in left:
                taken.append(queue)
                continue
            offsets = queue.table.column("offset").to_numpy()
            count = int(np.searchsorted(offsets, left[place]))
            time: int = queue.table.column("timestamp")[count].as_py()
            backs[place] = HeldBack(left[place], time, count)
            self._meta.next_offsets[place] = left[place]
            taken.append(queue.with_table(queue.table.slice(0, count)))
        passed = {place: back.passed for place, back in backs.items()}
        reads = tuple(each._replace(taken=passed.get(each.place, each.taken)) for each in reads)
        return taken, backs, reads

    def _read(self, queue: Queue, held: Mapping[TopicPartition, HeldBack]) -> SourceRead:
        rows, back = queue.table.num_rows, held.get(queue.topic_partition)
        taken = rows if back is None else back.passed
        return SourceRead(queue.entry, queue.topic_partition, rows, taken)

    def _place(self, queue: Queue) -> tuple[int, int]:
        return self._ranks[queue.entry], queue.partition

    def _unprocessed(self, queue: Queue) -> Queue:
        """Return the queue without the records that earlier batches have processed."""
        if queue.entry not in self._sources:
            return queue
        return queue.since(self._meta.next_offsets.get(queue.topic_partition, 0))
