"""Cases of windowed aggregation in this process, on RocksDB."""

from __future__ import annotations

import cProfile
import gc
import shutil
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.engine.one_task import Bench
from benchmarks.windows.cases import Case, drawn, topology
from benchmarks.windows.figures import Figures, figures_of, state_bytes
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.task.records.queues import Queue
from kstreams_rocksdb import RocksDB

__all__ = ("best_in_process",)


def best_in_process(
    case: Case, home: Path, rounds: int = 1, profile: cProfile.Profile | None = None
) -> Figures:
    """Run a case for several rounds; return the figures of the best round by CPU time."""
    table = drawn(case)
    found = [_round(case, table, home / f"{case.name}-{n}", profile) for n in range(rounds)]
    return max(found, key=lambda figures: figures.records_per_cpu_s or 0)


def _queues(case: Case, table: pa.Table) -> list[Queue]:
    headers = pa.nulls(case.records, INPUT_SCHEMA.field("headers").type)
    offsets = pa.array(np.arange(case.records))
    columns = [offsets, *(table.column(name) for name in ("timestamp", "key", "value")), headers]
    whole = pa.Table.from_arrays(columns, schema=INPUT_SCHEMA)
    return [
        Queue("in", "in", 0, whole.slice(start, case.batch))
        for start in range(0, case.records, case.batch)
    ]


def _round(case: Case, table: pa.Table, home: Path, profile: cProfile.Profile | None) -> Figures:
    bench = Bench(topology(case).groups[0], RocksDB(), home)
    walls, cpus = [], []
    results = dropped = 0
    gc.collect()
    for queue in _queues(case, table):
        wall, cpu = time.perf_counter(), time.process_time()
        if profile is not None:
            profile.enable()
        output = bench.run(queue)
        if profile is not None:
            profile.disable()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        results += sum(found.num_rows for found in output.sinks.values())
        dropped += sum(output.dropped.values())
    size = state_bytes(home / "local")
    shutil.rmtree(home, ignore_errors=True)
    return figures_of(
        case,
        measured=case.records,
        wall_s=sum(walls),
        batches_s=walls,
        cpus_s=cpus,
        results=results,
        dropped=dropped,
        state_bytes_per_key=round(size / len(table.column("key").unique()), 1),
    )
