"""Throughput of one task in one process, without Spark.

Each batch has 50,000 records and its own task, overlay and checkout, as on Spark. The time covers
everything from decoding the batch's columns to the durable delta on disk. All keys are stored
before the measurement. The figures include CPU time of the whole process, which other load on the
machine disturbs less than elapsed time.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kstreams import (
    INT64,
    TEXT,
    FixedKeyProcessor,
    Processor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    filter_,
    key_value_store,
    map_values,
)
from kstreams.graph.topology import PartitionGroup
from kstreams.processors import FixedKeyBatchProcessor
from kstreams.raw_batch import INPUT_SCHEMA
from kstreams.state import Memory, StateBackend
from kstreams.state.backend.task_key import TaskKey, new_attempt
from kstreams.state.cache.overlay import Overlay
from kstreams.state.cache.row_cache import RowCache
from kstreams.state.log.directory import DirectoryObjectStore
from kstreams.state.log.durable import Attempt
from kstreams.state.log.pointer import Pointer
from kstreams.state.stores.table_access import TableAccess
from kstreams.state.versions.versions import TaskVersions
from kstreams.task.gc_pause import gc_pauses
from kstreams.task.output.outputs import TaskOutput
from kstreams.task.progress.task_meta import TaskMeta
from kstreams.task.records.queues import Queue
from kstreams.task.task import Task
from kstreams_rocksdb import RocksDB

KEYS = 100_000
IN = Topic("in", TEXT, INT64)
OUT = Topic("out", TEXT, INT64)
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class AddOne(FixedKeyProcessor[str, int, int]):
    """Class form of `map_values`."""

    def process(self, record: Record[str, int]) -> None:
        self.context.forward(record.with_value(record.value + 1))


class KeepMost(FixedKeyProcessor[str, int, int]):
    """Class form of `filter_`."""

    def process(self, record: Record[str, int]) -> None:
        if record.value % 10:
            self.context.forward(record)


class Count(FixedKeyProcessor[str, int, int]):
    """Running count by key, forwarded for each record."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)

    def process(self, record: Record[str, int]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


class CountTables(FixedKeyBatchProcessor[str, int, int]):
    """Count by key, forwarded once per batch and key."""

    def init(self, context: Any) -> None:
        super().init(context)
        self.counts = context.store(COUNTS)

    def process_batch(self, table: pa.Table) -> None:
        encoded = table.column("key").combine_chunks().dictionary_encode()
        keys = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()
        groups = encoded.indices.to_numpy()
        found = self.counts.get_many(keys)
        before = np.array([count or 0 for count in found], np.int64)
        totals = before + np.bincount(groups, minlength=len(keys))
        self.counts.put_many(keys, totals.tolist())
        times = np.zeros(len(keys), np.int64)
        np.maximum.at(times, groups, table.column("timestamp").to_numpy())
        made = {"key": encoded.dictionary, "value": totals, "timestamp": times}
        self.context.forward(pa.table(made))


def add_one(value: int) -> int:
    return value + 1


def keep_most(_: str, value: int) -> bool:
    return bool(value % 10)


def chain(*suppliers: Callable[[], Processor[Any, Any, Any, Any]]) -> Topology:
    """Build a source, three processors and a sink, one below the other."""
    builder = TopologyBuilder("chain")
    node: Any = builder.add_source("in", IN)
    for number, supplier in enumerate(suppliers):
        node = builder.add_processor(f"node-{number}", supplier, node)
    builder.add_sink("out", OUT, node)
    return builder.build()


def blocks() -> Topology:
    """Build a source, `map_values`, `filter_`, `map_values` and a sink, one below the other."""
    builder = TopologyBuilder("blocks")
    node = builder.add_source("in", IN)
    node = builder.add_processor("first", map_values(add_one), node)
    node = builder.add_processor("second", filter_(keep_most), node)
    node = builder.add_processor("third", map_values(add_one), node)
    builder.add_sink("out", OUT, node)
    return builder.build()


def counting(node: Any) -> Topology:
    """Build a source, a counting node and a sink, one below the other."""
    builder = TopologyBuilder("counting")
    source = builder.add_source("in", IN)
    builder.add_sink("out", OUT, builder.add_processor("count", node, source, stores=[COUNTS]))
    return builder.build()


@dataclass(frozen=True)
class Sizes:
    """Number of records per batch, batches per round, and rounds."""

    batch: int = 50_000
    batches: int = 6
    rounds: int = 5


@dataclass(frozen=True)
class Figures:
    """Figures of the best round of one case."""

    case: str
    records_per_s: int
    records_per_cpu_s: int
    commit_ms: float
    commit_share: float


class Bench:
    """One group of a topology on one state backend, which processes given batches."""

    def __init__(self, group: PartitionGroup, backend: StateBackend | None, home: Path) -> None:
        self.group = group
        self.backend = backend
        self.home = home
        self.pointer = Pointer.empty()
        self.meta = TaskMeta()
        self.rows = RowCache(64 << 20)
        self.tables: Mapping[str, TableAccess] = {}
        self.commit_s = 0.0

    def run(self, *queues: Queue) -> TaskOutput:
        """Run and commit one micro-batch; the cycle collector pauses as in a worker."""
        with gc_pauses():
            return self._committed(queues)

    def _committed(self, queues: Sequence[Queue]) -> TaskOutput:
        if self.backend is None:
            return self._run(queues, Overlay(Memory().open(self.home / "none", [])))
        stores = [spec.name for spec in self.group.stores]
        log = DirectoryObjectStore(self.home / "log")
        key = TaskKey("bench", self.group.name, 0)
        versions = TaskVersions(self.backend, self.home / "local", log, key, stores)
        with versions.checkout(self.pointer, Attempt(new_attempt(), 0)) as checkout:
            overlay = Overlay(checkout.store, self.rows.take(key, self.pointer.version_id))
            output = self._run(queues, overlay)
            begin = time.perf_counter()
            self.pointer = checkout.commit(overlay.changes(), self.meta.to_json())
            self.rows.keep(key, self.pointer.version_id, overlay)
            self.commit_s += time.perf_counter() - begin
        return output

    def _run(self, queues: Sequence[Queue], overlay: Overlay) -> TaskOutput:
        task = Task(self.group, 0, overlay, self.meta, tables=self.tables)
        output = task.run(queues, wall_ms=0)
        task.close()
        return output


def queues(keys: Sequence[np.ndarray[Any, Any]], start: int = 0) -> list[Queue]:
    """Make a queue from each array of key numbers."""
    made = []
    for numbers in keys:
        count = len(numbers)
        places = np.arange(start, start + count)
        names = [f"key-{number:06d}" for number in numbers.tolist()]
        columns = [
            pa.array(places),
            pa.array(places),
            TEXT.serialize_many(names),
            INT64.serialize_many(places.tolist()),
            pa.nulls(count, INPUT_SCHEMA.field("headers").type),
        ]
        made.append(Queue("in", "in", 0, pa.Table.from_arrays(columns, schema=INPUT_SCHEMA)))
        start += count
    return made


def drawn(kind: str, sizes: Sizes) -> list[np.ndarray[Any, Any]]:
    """Draw key numbers, uniformly or with a Zipf distribution (exponent 1.2)."""
    random = np.random.default_rng(1)
    shape = (sizes.batches, sizes.batch)
    numbers = random.integers(0, KEYS, shape) if kind == "uniform" else random.zipf(1.2, shape)
    return list(numbers % KEYS)


CASES: dict[str, tuple[Callable[[], Topology], StateBackend | None, str]] = {
    "chain-classes": (partial(chain, AddOne, KeepMost, AddOne), None, "uniform"),
    "chain-blocks": (blocks, None, "uniform"),
    **{
        f"{name}-{backend.name}-{keys}": (partial(counting, node), backend, keys)
        for name, node in (("count", Count), ("count-tables", CountTables))
        for backend in (Memory(), RocksDB())
        for keys in ("uniform", "zipf")
    },
}


def measured(case: str, sizes: Sizes, home: Path, profile: cProfile.Profile | None) -> Figures:
    """Run a case for several rounds and return the figures of the best round."""
    make, backend, keys = CASES[case]
    topology = make()
    every = np.array_split(np.arange(KEYS), 2)
    first = queues(every)
    batches = queues(drawn(keys, sizes), KEYS)
    best: Figures | None = None
    for number in range(sizes.rounds):
        bench = Bench(topology.groups[0], backend, home / f"{case}-{number}")
        for queue in first if backend is not None else ():
            bench.run(queue)
        bench.commit_s = 0.0
        gc.collect()
        if profile is not None:
            profile.enable()
        wall, cpu = time.perf_counter(), time.process_time()
        for queue in batches:
            bench.run(queue)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if profile is not None:
            profile.disable()
        found = _figures(case, sizes, wall, cpu, bench.commit_s)
        best = found if best is None or found.records_per_s > best.records_per_s else best
        shutil.rmtree(bench.home, ignore_errors=True)
    if best is None:
        raise SystemExit("--rounds must be 1 or more")
    return best


def _figures(case: str, sizes: Sizes, wall: float, cpu: float, commit: float) -> Figures:
    records = sizes.batch * sizes.batches
    return Figures(
        case,
        round(records / wall),
        round(records / cpu),
        round(1000 * commit / sizes.batches, 1),
        round(commit / wall, 2),
    )


def run(
    cases: Sequence[str], sizes: Sizes, home: Path, *, profile: bool = False
) -> list[dict[str, Any]]:
    """Measure cases, print a table, and return the figures."""
    print(f"one task in process: {sizes.batches} batches of {sizes.batch:,} records,", end=" ")
    print(f"best of {sizes.rounds} rounds\n")
    print(f"{'':30}{'records/s':>12}{'per CPU s':>12}{'commit ms':>12}{'commit':>9}")
    figures = []
    for case in cases:
        profiler = cProfile.Profile(time.process_time) if profile else None
        found = measured(case, sizes, home, profiler)
        figures.append(asdict(found))
        print(
            f"{case:30}{found.records_per_s:12,}{found.records_per_cpu_s:12,}"
            f"{found.commit_ms:12.1f}{found.commit_share:9.0%}",
            flush=True,
        )
        if profiler is not None:
            pstats.Stats(profiler).sort_stats("tottime").print_stats(20)
    return figures
