"""Divide a batch into parts that each fit into Arrow columns and memory when decoded at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.task.records.queues import Queue, merged_order

__all__ = ("parts",)

_MOST_BYTES = 512 * 1024 * 1024
"""The maximum bytes of a part; an Arrow column cannot exceed 2 GiB, and processors add bytes."""
_MOST_ROWS = 1 << 22


def parts(queues: Sequence[Queue]) -> Iterator[Sequence[Queue]]:
    """Divide the queues of a batch into parts of limited size, along their merged order.

    A part has at most 512 MiB and 2**22 rows, so most batches are one part. A task below a
    repartition edge may get more bytes than the batch read from topics, because many tasks forward
    to it, and may forward many records per input.

    Yields:
        Queues with consecutive rows of the given queues; queues without rows are omitted.
    """
    size = sum(queue.table.nbytes for queue in queues)
    count = sum(queue.table.num_rows for queue in queues)
    if size <= _MOST_BYTES and count <= _MOST_ROWS:
        yield queues
        return
    numbers, rows = merged_order([queue.table.column("timestamp").to_numpy() for queue in queues])
    sizes = [_row_sizes(queue.table) for queue in queues]
    bases = np.cumsum([0, *map(len, sizes[:-1])])
    merged = np.concatenate(sizes)[bases[numbers] + rows]
    starts = [0] * len(queues)
    for begin, end in pairwise(_cuts(merged)):
        part = []
        counts = np.bincount(numbers[begin:end], minlength=len(queues)).tolist()
        for number, (queue, taken) in enumerate(zip(queues, counts, strict=True)):
            if taken:
                part.append(queue.with_table(queue.table.slice(starts[number], taken)))
                starts[number] += taken
        yield part


def _cuts(sizes: npt.NDArray[np.int64]) -> list[int]:
    """Return the row numbers at which parts begin, and the total number of rows."""
    ends = np.cumsum(sizes)
    of_bytes = (ends - 1) // _MOST_BYTES
    of_rows = np.arange(len(sizes)) // _MOST_ROWS
    new = (np.diff(of_bytes) > 0) | (np.diff(of_rows) > 0) | (sizes[:-1] > _MOST_BYTES)
    return [0, *(np.flatnonzero(new) + 1).tolist(), len(sizes)]


def _row_sizes(table: pa.Table) -> npt.NDArray[np.int64]:
    """Return the bytes of each row; all headers are assumed to have equal size."""
    rest = table.select(["offset", "timestamp", "headers"]).nbytes // table.num_rows
    found: npt.NDArray[Any] = np.full(table.num_rows, rest, np.int64)
    for name in ("key", "value"):
        found += pc.binary_length(table.column(name)).fill_null(0).to_numpy()
    return found
