"""Divide what was forwarded to a repartition edge among the tasks that own the keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kstreams.graph.nodes import RepartitionNode
from kstreams.task.queues import QUEUE_SCHEMA, Queue

__all__ = ("route",)


def route(
    edge: RepartitionNode, table: pa.Table, *, upstream: int, partitions: int
) -> Iterator[tuple[int, Queue]]:
    """Yield a queue for each task below that gets records.

    Args:
        edge: The repartition edge.
        table: What one upstream task forwarded to it (`OUTPUT_SCHEMA`).
        upstream: That task's partition; the queue's partition.
        partitions: How many tasks there are below.

    Yields:
        Target partition, and the queue; its offsets are the sequence of forwarding, so
        that order survives any shuffle. Null keys are spread by sequence.
    """
    sequence = np.arange(table.num_rows, dtype=np.int64)
    keys = table.column("key").combine_chunks()
    targets = edge.partitioner.partition_batch(keys, partitions)
    targets = np.where(targets < 0, (sequence % partitions).astype(targets.dtype), targets)
    columns = [
        pa.array(sequence),
        table.column("timestamp"),
        keys,
        table.column("value"),
        table.column("headers"),
    ]
    rows = pa.Table.from_arrays(columns, schema=QUEUE_SCHEMA)
    for target in np.unique(targets).tolist():
        part = rows.filter(pa.array(targets == target))
        yield target, Queue(edge.name, edge.name, upstream, part)
