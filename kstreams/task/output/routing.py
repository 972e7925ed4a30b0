"""Divide the records of a repartition edge or a loop among the tasks that own the keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kstreams.graph.nodes import LoopNode, RepartitionNode
from kstreams.partitioner import targets
from kstreams.pieces import pieces
from kstreams.raw_batch import HOPS, INPUT_SCHEMA, parted
from kstreams.task.records.queues import Queue

__all__ = ("route",)


def route(
    edge: RepartitionNode | LoopNode, table: pa.Table, *, upstream: int, partitions: int
) -> Iterator[tuple[int, Queue]]:
    """Yield queues for the receiving tasks; a large table results in several queues per task.

    Args:
        edge: The repartition edge, or the loop.
        table: The records of one upstream task (`kstreams.raw_batch.OUTPUT_SCHEMA`).
        upstream: The partition of the upstream task, and of the queues.
        partitions: The number of receiving tasks.

    Yields:
        The target partition and the queue. Offsets are sequence numbers of forwarding, so any
        shuffle keeps the order. Records with null keys are distributed round-robin by these
        numbers.
    """
    first = 0
    for piece in pieces(table):
        sequence = np.arange(first, first + piece.num_rows, dtype=np.int64)
        keys = piece.column("key").combine_chunks()
        found = targets(edge.partitioner, keys, partitions, first=first)
        columns = [
            pa.array(sequence),
            piece.column("timestamp"),
            keys,
            piece.column("value"),
            piece.column("headers"),
        ]
        rows = pa.Table.from_arrays(columns, schema=INPUT_SCHEMA)
        if HOPS in piece.column_names:
            rows = rows.append_column(HOPS, piece.column(HOPS))
        for target, part in parted(rows, found):
            yield target, Queue(edge.name, edge.name, upstream, part)
        first += piece.num_rows
