"""Cost of a stage on Spark: throughput, and memory over a backlog.

Topics are embedded, Spark runs with local[*] and 4 partitions; start-up and the first batch are not
measured.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from kstreams import (
    BYTES,
    INT64,
    TEXT,
    App,
    Embedded,
    FixedKeyProcessor,
    ProcessorContext,
    Record,
    Topic,
    Topology,
    TopologyBuilder,
    key_value_store,
)
from kstreams.app import BatchReport
from kstreams.partitioner import partitions_of
from kstreams.processors import BatchProcessor
from kstreams.state import StateBackend
from kstreams_rocksdb import RocksDB

PARTITIONS = 4
KEYS = 100_000
SEGMENT = 50_000
COUNTS = key_value_store("counts", key=TEXT, value=INT64)


class Nothing(BatchProcessor[bytes, bytes, bytes, bytes]):
    """Batch processor that takes tables and does nothing; measures the overhead of the stage."""

    def process_batch(self, table: pa.Table) -> None:
        pass


class Idle(FixedKeyProcessor[str, int, int]):
    """Processor that ignores each record; measures the cost of `Count` without counting."""

    def process(self, record: Record[str, int]) -> None:
        pass


class Count(FixedKeyProcessor[str, int, int]):
    """Running count with one call per record; forwards every update."""

    def init(self, context: ProcessorContext[str, int]) -> None:
        self.context, self.counts = context, context.store(COUNTS)

    def process(self, record: Record[str, int]) -> None:
        total = (self.counts.get(record.key) or 0) + 1
        self.counts.put(record.key, total)
        self.context.forward(record.with_value(total))


def nothing() -> Topology:
    builder = TopologyBuilder("nothing")
    source = builder.add_source("in", Topic("in", BYTES, BYTES))
    builder.add_processor("nothing", Nothing, source)
    return builder.build()


def idling() -> Topology:
    builder = TopologyBuilder("idle")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    builder.add_processor("idle", Idle, source)
    return builder.build()


def counting(sink: bool) -> Topology:
    builder = TopologyBuilder("count-and-write" if sink else "count")
    source = builder.add_source("in", Topic("in", TEXT, INT64))
    counts = builder.add_processor("count", Count, source, stores=[COUNTS])
    if sink:
        builder.add_sink("out", Topic("out", TEXT, INT64), counts)
    return builder.build()


def fill(connection: Embedded, records: int) -> None:
    """Write records with Zipf-distributed keys, 5 ms apart."""
    log, random = connection.log(), np.random.default_rng(7)
    log.ensure("in", PARTITIONS)
    for number, start in enumerate(range(0, records, SEGMENT * PARTITIONS)):
        count = min(SEGMENT * PARTITIONS, records - start)
        keys = pa.array([f"key-{k % KEYS}" for k in random.zipf(1.3, count).tolist()])
        times = pa.array(np.arange(start, start + count, dtype=np.int64) * 5 + 1)
        values = INT64.serialize_many(list(range(start, start + count)))
        binary = keys.view(pa.binary())
        targets = partitions_of(binary, PARTITIONS)
        table = pa.table({"timestamp": times, "key": binary, "value": values})
        for partition in range(PARTITIONS):
            part = table.filter(pa.array(targets == partition))
            if part.num_rows:
                log.append("in", partition, part, producer="fill", batch=number)


class Memory:
    """Peak resident memory of each Python worker started by this process, polled from /proc."""

    def __init__(self) -> None:
        self.peaks: dict[int, int] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _poll(self) -> None:
        while not self._done.wait(0.25):
            for pid in _workers():
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                high = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
                if high:
                    self.peaks[pid] = max(self.peaks.get(pid, 0), int(high[0]) * 1024)


def _workers() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if b"pyspark.daemon" in command:
            yield int(entry.name)


def drain(
    topology: Topology,
    connection: Embedded,
    home: Path,
    *,
    state: StateBackend | None = None,
    max_records: int = 250_000,
) -> list[tuple[float, BatchReport]]:
    """Run to the end of the topic; return each batch's report and commit time (seconds)."""
    batches: list[tuple[float, BatchReport]] = []
    app = App(
        topology,
        connection,
        state=state,
        checkpoint=home / f"checkpoint-{topology.name}-{time.monotonic_ns()}",
        max_records_per_batch=max_records,
        trigger=timedelta(0),
        on_batch=lambda report: batches.append((time.perf_counter(), report)),
    )
    app.run(until="end")
    return [(when, report) for when, report in batches if report.source_records]


def rate(batches: list[tuple[float, BatchReport]]) -> float:
    """Return records/s between the commits of the first and the last batch."""
    records = sum(report.source_records for _, report in batches[1:])
    return records / (batches[-1][0] - batches[0][0])


def stages(home: Path, records: int) -> dict[str, float]:
    """Measure the rate of stages on `records` records."""
    connection = Embedded(home / "topics", durable=False)
    fill(connection, records)
    runs = {
        "nothing, by table, records/s": (nothing(), None),
        "nothing, per record, records/s": (idling(), None),
        "count per record, RocksDB, records/s": (counting(sink=False), RocksDB()),
        "count per record to a sink, RocksDB, records/s": (counting(sink=True), RocksDB()),
    }
    print(f"\na stage on Spark: {records:,} records of embedded topics, 4 partitions\n")
    figures = {}
    for name, (topology, state) in runs.items():
        batches = drain(
            topology, connection, home, state=state, max_records=min(250_000, records // 4)
        )
        figures[name] = rate(batches)
        show(name, figures[name])
    return figures


def backlog(home: Path, records: int) -> dict[str, float]:
    """Process a backlog and measure the memory of workers meanwhile."""
    connection = Embedded(home / "backlog", durable=False)
    fill(connection, records)
    print(f"\na backlog of {records:,} records on Spark\n")
    with Memory() as memory:
        batches = drain(counting(sink=False), connection, home, state=RocksDB())
    figures = {
        "records read": sum(report.source_records for _, report in batches),
        "count per record, RocksDB, records/s": rate(batches),
        "peak memory of a Python worker, MB": max(memory.peaks.values()) / 1e6,
    }
    for name, value in figures.items():
        show(name, value)
    return figures


def show(name: str, value: float) -> None:
    print(f"{name:50}{value:14,.0f}", flush=True)
