"""The benchmark's records: Parquet files for DataFrames, embedded topics for `App`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.windows.cases import Case, drawn
from kstreams import Embedded
from kstreams.partitioner import partitions_of

__all__ = ("SIZE_MS", "TASKS", "Input")

TASKS = 4
SIZE_MS = 10_000
_FAR_MS = 1_000_000_000
_TINY_BATCHES = 25
_NO_KEYS = 64
"""The number of records that only advance time: enough keys to reach all partitions."""


@dataclass(frozen=True)
class Input:
    """Batches of records for a windowed count, and one final batch that advances stream time.

    Attributes:
        records: The number of records.
        batch: The number of records per batch.
        home: The folder of the files.
    """

    records: int
    batch: int
    home: Path

    @property
    def case(self) -> Case:
        """The windowed count with one final result."""
        return Case("frames", emit="close", records=self.records, batch=self.batch)

    @property
    def files(self) -> Path:
        """Folder of Parquet files, one per batch: key, value, raw (value as bytes), timestamp."""
        return self.home / "files"

    @property
    def nothing(self) -> Path:
        """Folder of Parquet files with one record per task, and timestamps that close no window."""
        return self.home / "nothing"

    def few(self) -> list[pa.Table]:
        """Return the records of `nothing`."""
        return [self._a_record_a_task()] * _TINY_BATCHES

    def batches(self) -> list[pa.Table]:
        """Return the records of each batch: timestamp (ms), key, value (bytes)."""
        table = drawn(self.case)
        parts = [table.slice(n, self.batch) for n in range(0, self.records, self.batch)]
        far = pa.array([_FAR_MS] * _NO_KEYS)
        keys = pa.array([b"none-%d" % n for n in range(_NO_KEYS)])
        values = pa.array([bytes(8)] * _NO_KEYS)
        last = pa.table({"timestamp": far, "key": keys, "value": values})
        return [*parts, last.cast(table.schema)]

    def results(self) -> int:
        """Return the number of windows that close."""
        table = drawn(self.case)
        windows = table.column("timestamp").to_numpy() // SIZE_MS
        keys = table.column("key").combine_chunks().dictionary_encode().indices.to_numpy()
        return len(np.unique(windows.astype(np.int64) * len(keys) + keys))

    def write_files(self) -> None:
        """Write the files, with modification times in the order of the batches."""
        for folder, batches in (
            (self.files, self.batches()),
            (self.nothing, self.few()),
        ):
            folder.mkdir(parents=True)
            for number, table in enumerate(batches):
                path = folder / f"{number:05d}.parquet"
                pq.write_table(_as_columns(table), path)
                os.utime(path, (1_700_000_000 + number,) * 2)  # Spark reads files in this order

    def write_topics(self, batches: list[pa.Table], folder: Path) -> Embedded:
        """Write the topics `in` and `out` into a folder, and return a connection to them."""
        connection = Embedded(folder, durable=False)
        log = connection.log()
        for topic in ("in", "out"):
            log.ensure(topic, TASKS)
        for number, table in enumerate(batches):
            targets = partitions_of(table.column("key").combine_chunks(), TASKS)
            for partition in range(TASKS):
                own = table.filter(pa.array(targets == partition))
                if own.num_rows:
                    log.append("in", partition, own, producer="bench", batch=number)
        return connection

    def _a_record_a_task(self) -> pa.Table:
        found: dict[int, int] = {}
        keys = pa.array([b"none-%d" % n for n in range(_NO_KEYS)])
        for place, target in enumerate(partitions_of(keys, TASKS).tolist()):
            found.setdefault(target, place)
        return pa.table(
            {
                "timestamp": pa.array([0] * TASKS),
                "key": keys.take(pa.array(sorted(found.values()))),
                "value": pa.array([bytes(8)] * TASKS),
            }
        )


def _as_columns(table: pa.Table) -> pa.Table:
    times = table.column("timestamp").cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
    return pa.table(
        {
            "key": table.column("key").cast(pa.string()),
            "raw": table.column("value").cast(pa.binary()),
            "timestamp": times.cast(pa.timestamp("us", "UTC")),
        }
    )
