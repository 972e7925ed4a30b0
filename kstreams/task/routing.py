"""Divide what was forwarded to a repartition edge among the tasks that own the keys."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams.graph.nodes import RepartitionNode
from kstreams.pieces import pieces
from kstreams.task.queues import QUEUE_SCHEMA, Queue

__all__ = ("parted", "route")


def route(
    edge: RepartitionNode, table: pa.Table, *, upstream: int, partitions: int
) -> Iterator[tuple[int, Queue]]:
    """Yield queues for each task below that gets records: one for each piece of the table.

    Args:
        edge: The repartition edge.
        table: What one upstream task forwarded to it (`OUTPUT_SCHEMA`).
        upstream: That task's partition; the queue's partition.
        partitions: How many tasks there are below.

    Yields:
        Target partition, and the queue; its offsets are the sequence of forwarding, so
        that order survives any shuffle. Null keys are spread by sequence.
    """
    first = 0
    for piece in pieces(table):
        sequence = np.arange(first, first + piece.num_rows, dtype=np.int64)
        first += piece.num_rows
        keys = piece.column("key").combine_chunks()
        targets = edge.partitioner.partition_batch(keys, partitions)
        targets = np.where(targets < 0, (sequence % partitions).astype(targets.dtype), targets)
        columns = [
            pa.array(sequence),
            piece.column("timestamp"),
            keys,
            piece.column("value"),
            piece.column("headers"),
        ]
        rows = pa.Table.from_arrays(columns, schema=QUEUE_SCHEMA)
        for target, part in parted(rows, targets):
            yield target, Queue(edge.name, edge.name, upstream, part)


def parted(
    table: pa.Table, targets: np.ndarray[Any, np.dtype[np.int32]]
) -> Iterator[tuple[int, pa.Table]]:
    """Divide rows by target, keeping the order in each; yields those that have rows, rising.

    Costs the same however many targets there are.
    """
    if not len(targets):
        return
    narrow = targets.astype(np.uint16) if targets.max() < 1 << 16 else targets  # sorts faster
    order = np.argsort(narrow, kind="stable")
    placed = targets[order]
    cuts = [0, *(np.flatnonzero(np.diff(placed)) + 1).tolist(), len(placed)]
    if len(cuts) > 2:  # several targets
        table = table.take(pa.array(order))
    for begin, end in pairwise(cuts):
        yield int(placed[begin]), table.slice(begin, end - begin)
