"""A batch's input: a queue for each source partition or upstream task, and their merged order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.ids import TopicPartition
from kstreams.raw_batch import HOPS, ORIGIN

__all__ = ("Queue", "least_hops", "merged_order")


@dataclass(frozen=True)
class Queue:
    """Records of one source partition, or of one upstream task of a repartition edge.

    Attributes:
        entry: The name of the source node or repartition node through which the records enter.
        topic: Name of the topic (or of the edge), for metadata and errors.
        partition: Partition in the topic (or number of the upstream task).
        table: Columns of `kstreams.raw_batch.INPUT_SCHEMA`, rising offsets.
    """

    entry: str
    topic: str
    partition: int
    table: pa.Table

    @cached_property
    def topic_partition(self) -> TopicPartition:
        """The key of the queue in `TaskMeta.next_offsets`."""
        return TopicPartition(self.topic, self.partition)

    def since(self, offset: int) -> Queue:
        """Return the queue without the records before an offset; gaps in offsets are normal."""
        offsets = self.table.column("offset")
        if len(offsets) == 0 or offsets[0].as_py() >= offset:
            return self
        return self.with_table(self.table.filter(pc.greater_equal(offsets, offset)))

    def place(self, row: int) -> dict[str, Any]:
        """Return the fields of a `Where` that identify the record of a row, including its file."""
        names = ("offset", "timestamp")
        known: dict[str, Any] = {name: self.table.column(name)[row].as_py() for name in names}
        if ORIGIN in self.table.column_names and (said := self.table.column(ORIGIN)[row].as_py()):
            first, _, file = said.partition(":")
            known |= {"file": file, "record": known["offset"] - int(first) + 1}
        return {"topic": self.topic, "partition": self.partition, **known}

    def with_table(self, table: pa.Table) -> Queue:
        """Return the queue with other rows."""
        return Queue(self.entry, self.topic, self.partition, table)


def merged_order(
    timestamps: Sequence[npt.NDArray[np.int64]],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Merge queues as Kafka Streams does: take the queue whose head has the lowest timestamp.

    The order within a queue stays. The result is a stable sort by the running maximum of each
    queue; for equal times the earlier queue comes first.

    Args:
        timestamps: The timestamps of each queue, ms.

    Returns:
        The queue number and the row in the queue, for each record in merged order.
    """
    lengths = [len(times) for times in timestamps]
    keys: npt.NDArray[Any] = np.concatenate([np.maximum.accumulate(t) for t in timestamps])
    queues = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    rows = np.concatenate([np.arange(n, dtype=np.int64) for n in lengths])
    order = np.argsort(keys, kind="stable")
    return queues[order], rows[order]


def least_hops(queues: Sequence[Queue]) -> int:
    """Return the minimum number of loop passes of a batch's records; 0 without loops."""
    if not queues or any(HOPS not in queue.table.column_names for queue in queues):
        return 0
    found: int = min(pc.min(queue.table.column(HOPS)).as_py() for queue in queues)
    return found
