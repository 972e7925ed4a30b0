"""Cases of windowed aggregation on Spark, on RocksDB and embedded topics."""

from __future__ import annotations

import shutil
import time
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.windows.cases import Case, drawn, topology
from benchmarks.windows.figures import Figures, figures_of, state_bytes
from kstreams import App, Embedded
from kstreams.app import BatchReport
from kstreams.partitioner import partitions_of
from kstreams_rocksdb import RocksDB

__all__ = ("on_spark",)

PARTITIONS = 2


def on_spark(case: Case, home: Path, session: SparkSession) -> Figures:
    """Run a case to its end; the rate excludes the start and the first batch."""
    own = home / case.name
    connection = Embedded(own / "topics", durable=False)
    table = drawn(case)
    _fill(connection, case, table)
    reports: list[tuple[float, BatchReport]] = []
    app = App(
        topology(case),
        connection,
        state=RocksDB(directory=str(own / "local")),
        checkpoint=own / "checkpoint",
        spark=session,
        trigger=timedelta(0),
        parallelism=PARTITIONS,
        max_records_per_batch=case.batch,
        on_batch=lambda report: reports.append((time.perf_counter(), report)),
    )
    app.run(until="end")
    batches = [(when, report) for when, report in reports if report.source_records]
    walls = [later - earlier for (earlier, _), (later, _) in pairwise(batches)]
    ends = connection.admin().end_offsets("out")
    size = state_bytes(own / "local")
    shutil.rmtree(own, ignore_errors=True)
    return figures_of(
        case,
        measured=sum(report.source_records for _, report in batches[1:]),
        wall_s=sum(walls),
        batches_s=walls,
        results=sum(ends.values()),
        dropped=sum(sum(report.dropped.values()) for _, report in reports),
        state_bytes_per_key=round(size / len(table.column("key").unique()), 1),
    )


def _fill(connection: Embedded, case: Case, table: pa.Table) -> None:
    log = connection.log()
    for topic in ("in", "out"):
        log.ensure(topic, PARTITIONS)
    for number, start in enumerate(range(0, case.records, case.batch)):
        part = table.slice(start, case.batch)
        targets = partitions_of(part.column("key").combine_chunks(), PARTITIONS)
        for partition in range(PARTITIONS):
            own = part.filter(pa.array(targets == partition))
            if own.num_rows:
                log.append("in", partition, own, producer="bench", batch=number)
