"""What is measured: queries on the same files, and an `App` on topics with the same records."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from benchmarks.frames.by_key import by_key
from benchmarks.frames.records import SIZE_MS, TASKS, Input
from benchmarks.windows.cases import topology
from kstreams import App
from kstreams.app import BatchReport
from kstreams.frames import Operator, SourceFrame, transform_frames
from kstreams.state import Directory
from kstreams_rocksdb import RocksDB

__all__ = ("CONTENDERS", "SLOW", "Run", "run_app")

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STORES = "org.apache.spark.sql.execution.streaming.state"
_ROCKSDB = f"{_STORES}.RocksDBStateStoreProvider"
_IN_MEMORY = f"{_STORES}.HDFSBackedStateStoreProvider"
_SCHEMA = "key string, raw binary, timestamp timestamp"


@dataclass
class Run:
    """What a run took, batch by batch.

    Attributes:
        records: Of each batch.
        seconds: Each batch took; the first ones are warm-up.
        results: How many rows came out.
    """

    records: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    results: int = 0

    def rate(self, warm_up: int) -> float:
        """Return records/s after the warm-up; the last batch, which moves time, is left out."""
        return sum(self.records[warm_up:-1]) / sum(self.seconds[warm_up:-1])


def _frames(operator: Operator) -> Callable[[DataFrame, Input, Path], DataFrame]:
    def made(rows: DataFrame, given: Input, home: Path) -> DataFrame:
        return transform_frames(
            topology(given.case),
            {"in": SourceFrame(rows, value="raw")},
            state=RocksDB(directory=str(home / "local"), log=Directory(str(home / "log"))),
            tasks=TASKS,
            operator=operator,
        ).all

    return made


def _group_by(rows: DataFrame, given: Input, home: Path) -> DataFrame:
    from pyspark.sql.functions import window  # noqa: PLC0415  # beside what uses it

    size = f"{SIZE_MS // 1000} seconds"
    timed = rows.withWatermark("timestamp", "0 seconds")
    return timed.groupBy("key", window("timestamp", size)).count()


@dataclass(frozen=True)
class Query:
    """A query on the files, and the state store of Spark's that it runs on."""

    make: Callable[[DataFrame, Input, Path], DataFrame]
    provider: str = _ROCKSDB

    def run(self, session: SparkSession, given: Input, files: Path, home: Path) -> Run:
        """Run to the end of the files, one a batch; results are counted and go nowhere."""
        session.conf.set(_PROVIDER, self.provider)
        rows = session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
        made = self.make(rows.parquet(str(files)), given, home)
        query = (
            made.observe("results", *_counted())
            .writeStream.format("noop")
            .queryName(f"bench-{uuid4().hex[:8]}")
            .option("checkpointLocation", str(home / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found = Run()
        for each in query.recentProgress:
            if each["numInputRows"]:
                found.records.append(each["numInputRows"])
                found.seconds.append(each["durationMs"]["triggerExecution"] / 1000)
            results = each["observedMetrics"].get("results")
            found.results += results["n"] if results else 0
        return found


def _counted() -> tuple[Any, ...]:
    from pyspark.sql.functions import count, lit  # noqa: PLC0415  # beside what uses it

    return (count(lit(1)).alias("n"),)


CONTENDERS = {
    "kstreams frames, transform-with-state": Query(_frames("transform-with-state")),
    "kstreams frames, group-state": Query(_frames("group-state")),
    "Spark's windowed groupBy": Query(_group_by, _IN_MEMORY),
    "Spark's windowed groupBy, its RocksDB": Query(_group_by),
    "transformWithStateInPandas by key": Query(by_key),
}
SLOW = "transformWithStateInPandas by key"


def run_app(session: SparkSession, given: Input, home: Path) -> Run:
    """Run `App` to the end of its topics."""
    reports: list[tuple[float, BatchReport]] = []
    connection = given.write_topics()
    app = App(
        topology(given.case),
        connection,
        state=RocksDB(directory=str(home / "local")),
        checkpoint=home / "checkpoint",
        spark=session,
        trigger=timedelta(0),
        max_records_per_batch=given.batch,
        on_batch=lambda report: reports.append((time.perf_counter(), report)),
    )
    app.run(until="end")
    batches = [(when, report) for when, report in reports if report.source_records]
    return Run(
        [report.source_records for _, report in batches],
        [0.0, *(later - earlier for (earlier, _), (later, _) in pairwise(batches))],
        sum(connection.admin().end_offsets("out").values()),
    )
