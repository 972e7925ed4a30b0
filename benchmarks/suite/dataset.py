"""A dataset: seeded records, made once and kept in a topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.partitioner import partition_of, partitions_of

__all__ = ("CLOSER", "DATA", "DAY_MS", "PARTITIONS", "START_MS", "Dataset", "closers")

PARTITIONS = 4
START_MS = 1_704_067_200_000  # 2024-01-01T00:00Z: the start of a window of any usual size
DAY_MS = 86_400_000
DATA = "bench-data-"
"""Topics that begin so hold datasets, and are kept."""
CLOSER = b"~end-"
"""Keys that begin so are of no workload: see `closers`."""


@dataclass(frozen=True)
class Dataset:
    """Records of a kind.

    A workload of several topics has a dataset for each, and counts by the first one's records.

    Args:
        name: Names the topic.
        make: Draws the records of a count from a seeded generator: a table of `key` and `value`
            (binary), `timestamp` (int64, ms) and whatever columns `expected` needs; in the
            order of event time.
        filler: The value of a record that only moves time.
        seed: Seed of the generator.
        partitions: How many the topic has, and that of the results.
        size: How many records there are for a count, where it is not as many.
        disorder_ms: How much older than one before it a record may be.
    """

    name: str
    make: Callable[[int, np.random.Generator], pa.Table]
    filler: bytes
    seed: int = 7
    partitions: int = PARTITIONS
    size: Callable[[int], int] | None = None
    disorder_ms: int = 0

    def topic(self, records: int) -> str:
        """Return the topic that holds the records of a count."""
        spread = "" if self.partitions == PARTITIONS else f"-over-{self.partitions}"
        return f"{DATA}{self.name}-{records}-seed{self.seed}{spread}"

    def rows(self, count: int) -> int:
        """Return how many records the topic of a count has, closers included."""
        return (self.size(count) if self.size else count) + self.partitions

    def records(self, count: int) -> pa.Table:
        """Return the records of a count; the same at each call."""
        table = self.make(count, np.random.default_rng(self.seed))
        times = table.column("timestamp").to_numpy()
        if np.any(np.maximum.accumulate(times) - times > self.disorder_ms):
            raise ValueError(f"dataset {self.name!r} is not in the order of event time")
        if table.num_rows + self.partitions != self.rows(count):
            raise ValueError(f"dataset {self.name!r} has {table.num_rows:,} records of {count:,}")
        return table

    def topic_rows(self, table: pa.Table) -> pa.Table:
        """Return all that a topic holds: key, value, timestamp, partition; closers last."""
        last = int(pc.max(table.column("timestamp")).as_py())
        end = closers(last + DAY_MS, self.filler, self.partitions)
        rows = pa.concat_tables([table.select(["key", "value", "timestamp"]), end])
        keys = rows.column("key").combine_chunks()
        if isinstance(keys, pa.ChunkedArray):
            keys = pa.concat_arrays(keys.chunks)
        return rows.append_column("partition", pa.array(partitions_of(keys, self.partitions)))


def closers(timestamp: int, value: bytes, partitions: int = PARTITIONS) -> pa.Table:
    """Return one record a partition that moves time on, so that all windows before close."""
    found: dict[int, bytes] = {}
    number = 0
    while len(found) < partitions:
        key = CLOSER + str(number).encode()
        found.setdefault(partition_of(key, partitions), key)
        number += 1
    keys = [found[partition] for partition in range(partitions)]
    columns = {
        "key": pa.array(keys, pa.binary()),
        "value": pa.array([value] * partitions, pa.binary()),
        "timestamp": pa.array([timestamp] * partitions, pa.int64()),
    }
    return pa.table(columns)
