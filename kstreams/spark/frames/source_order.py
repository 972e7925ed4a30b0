"""The order of a source's records in a batch, which does not depend on Spark's partitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.batch.messages.edge_records import EdgeRecords
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.task.records.queues import Queue

__all__ = ("source_queue",)

_BATCH_BITS = 36


def source_queue(task: int, batch: int, parts: Sequence[EdgeRecords]) -> Queue:
    """Merge the records of one source for a task in the order of time.

    Equal times are ordered by partition and offset if the source has them, otherwise by key and
    value.

    Args:
        task: The number of the task, which is also the partition.
        batch: The number of the batch. The records' offsets are derived from it, so that they
            increase from batch to batch.
        parts: The records from any number of Spark partitions.
    """
    first = parts[0]
    table = pa.concat_tables([each.queue().table for each in parts]).combine_chunks()
    table = table.take(pa.array(_order(table)))
    offsets = np.arange(table.num_rows, dtype=np.int64) + (batch << _BATCH_BITS)
    columns = [pa.array(offsets), *(table.column(name) for name in INPUT_SCHEMA.names[1:])]
    return Queue(first.entry, first.topic, task, pa.Table.from_arrays(columns, schema=INPUT_SCHEMA))


def _order(table: pa.Table) -> npt.NDArray[np.int64]:
    times = table.column("timestamp").to_numpy()
    if not table.column("offset").null_count:
        places = table.column("offset").to_numpy(), table.column("partition").to_numpy()
        return np.lexsort((*places, times))
    order = np.argsort(times, kind="stable")
    sorted_times = times[order]
    ties = np.flatnonzero(sorted_times[1:] == sorted_times[:-1])
    if not len(ties):
        return order
    tied = np.union1d(ties, ties + 1)
    rows = table.take(pa.array(order[tied]))
    by = [("timestamp", "ascending"), ("key", "ascending"), ("value", "ascending")]
    order[tied] = order[tied][pc.sort_indices(rows, sort_keys=by).to_numpy()]
    return order
