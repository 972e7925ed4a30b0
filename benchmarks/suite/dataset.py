"""A dataset: seeded records, generated once and kept in a topic.

Closers are additional records at the end of a topic that only advance stream time, so that all
windows close.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kstreams.partitioner import partition_of, partitions_of

__all__ = ("CLOSER", "DATA", "DAY_MS", "PARTITIONS", "START_MS", "Dataset", "closers")

PARTITIONS = 4
START_MS = 1_704_067_200_000  # 2024-01-01T00:00Z: a window starts here for all usual sizes
DAY_MS = 86_400_000
DATA = "bench-data-"
"""Prefix of the topics that contain datasets and are kept."""
CLOSER = b"~end-"
"""Prefix of keys that belong to no workload; see `closers`."""


@dataclass(frozen=True)
class Dataset:
    """A kind of generated records.

    A workload with several topics has one dataset per topic; its number of records is the number of
    the first dataset's records.

    Args:
        name: The name in the topic's name.
        make: Draws a number of records from a seeded generator, in the order of event time: a table
            of `key` and `value` (binary), `timestamp` (int64, ms) and any columns that `expected`
            needs.
        filler: The value of a record that only advances stream time.
        seed: The seed of the generator.
        partitions: The number of partitions of the topic, and of the results.
        size: Returns the number of records for a count, if it differs from the count.
        disorder_ms: The maximum time by which a record may be older than an earlier one.
    """

    name: str
    make: Callable[[int, np.random.Generator], pa.Table]
    filler: bytes
    seed: int = 7
    partitions: int = PARTITIONS
    size: Callable[[int], int] | None = None
    disorder_ms: int = 0

    def topic(self, records: int) -> str:
        """Return the topic with this number of records."""
        spread = "" if self.partitions == PARTITIONS else f"-over-{self.partitions}"
        return f"{DATA}{self.name}-{records}-seed{self.seed}{spread}"

    def rows(self, count: int) -> int:
        """Return the number of records in the topic for a count, including closers."""
        return (self.size(count) if self.size else count) + self.partitions

    def records(self, count: int) -> pa.Table:
        """Return the records for a count; the same at each call."""
        table = self.make(count, np.random.default_rng(self.seed))
        times = table.column("timestamp").to_numpy()
        if np.any(np.maximum.accumulate(times) - times > self.disorder_ms):
            raise ValueError(f"dataset {self.name!r} is not in the order of event time")
        if table.num_rows + self.partitions != self.rows(count):
            raise ValueError(f"dataset {self.name!r} has {table.num_rows:,} records of {count:,}")
        return table

    def topic_rows(self, table: pa.Table) -> pa.Table:
        """Return all records of a topic: key, value, timestamp, partition; closers last."""
        last = int(pc.max(table.column("timestamp")).as_py())
        end = closers(last + DAY_MS, self.filler, self.partitions)
        rows = pa.concat_tables([table.select(["key", "value", "timestamp"]), end])
        keys = rows.column("key").combine_chunks()
        if isinstance(keys, pa.ChunkedArray):
            keys = pa.concat_arrays(keys.chunks)
        return rows.append_column("partition", pa.array(partitions_of(keys, self.partitions)))


def closers(timestamp: int, value: bytes, partitions: int = PARTITIONS) -> pa.Table:
    """Return one record per partition that advances stream time past all earlier windows."""
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
