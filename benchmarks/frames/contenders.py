"""The compared implementations: queries on the same files, and an `App` on topics."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.frames.by_key import by_key
from benchmarks.frames.nothing import nothing
from benchmarks.frames.records import SIZE_MS, TASKS, Input
from benchmarks.frames.run import Batch, Run, reason
from benchmarks.windows.cases import topology
from kstreams import App
from kstreams.app import BatchReport
from kstreams.frames import Operator, SourceFrame, transform_frames
from kstreams.state import Directory
from kstreams_rocksdb import RocksDB

__all__ = ("CONTENDERS", "SLOW", "Query", "run_app")

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_STORES = "org.apache.spark.sql.execution.streaming.state"
_ROCKSDB = f"{_STORES}.RocksDBStateStoreProvider"
_IN_MEMORY = f"{_STORES}.HDFSBackedStateStoreProvider"
_SCHEMA = "key string, raw binary, timestamp timestamp"
_POLL_S = 0.2

_Made = Callable[[DataFrame, Input, Path], DataFrame]


def _frames(operator: Operator, *, timers: bool = False) -> _Made:
    def made(rows: DataFrame, given: Input, home: Path) -> DataFrame:
        return transform_frames(
            topology(given.case),
            {"in": SourceFrame(rows, value="raw")},
            state=RocksDB(directory=str(home / "local"), log=Directory(str(home / "log"))),
            tasks=TASKS,
            operator=operator,
            timers=timers,
        ).all

    return made


def _group_by(rows: DataFrame, given: Input, home: Path) -> DataFrame:
    from pyspark.sql.functions import window  # noqa: PLC0415  # only needed here

    size = f"{SIZE_MS // 1000} seconds"
    timed = rows.withWatermark("timestamp", "0 seconds")
    return timed.groupBy("key", window("timestamp", size)).count()


@dataclass(frozen=True)
class Query:
    """A query on the files and its state store provider.

    Attributes:
        make: Makes the query's DataFrame.
        provider: Class of Spark's state store provider.
        with_timers: Makes a DataFrame with timers, for batches without records; None if not
            supported.
        is_counted: Whether the query emits the same results as the other contenders.
    """

    make: _Made
    provider: str = _ROCKSDB
    with_timers: _Made | None = None
    is_counted: bool = True

    def run(
        self, session: SparkSession, given: Input, files: Path, home: Path, *, seconds: float
    ) -> Run:
        """Run to the end of the files, one file per batch; results are counted and discarded."""
        query = self._started(session, self.make, given, files, home, {"availableNow": True})
        return _ended(query, seconds)

    def idle(
        self, session: SparkSession, given: Input, home: Path, *, batches: int, seconds: float
    ) -> Run:
        """Run batches of few records, then batches without records, as timers trigger them."""
        make = self.with_timers or self.make
        trigger = {"processingTime": "0 seconds"}
        query = self._started(session, make, given, given.nothing, home, trigger)
        found, end = Run(), time.monotonic() + seconds
        while query.isActive and len(found.batches) < batches and time.monotonic() < end:
            time.sleep(_POLL_S)
            found = _found(query)
            found.batches = [each for each in found.batches if not each.records]
        query.stop()
        if len(found.batches) < batches:
            found.failure = f"{len(found.batches)} batches without records in {seconds:,.0f} s"
        return found

    def _started(
        self,
        session: SparkSession,
        make: _Made,
        given: Input,
        files: Path,
        home: Path,
        trigger: dict[str, Any],
    ) -> StreamingQuery:
        session.conf.set(_PROVIDER, self.provider)
        rows = session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
        made = make(rows.parquet(str(files)), given, home)
        return (
            made.observe("results", *_counted())
            .writeStream.format("noop")
            .queryName(f"bench-{uuid4().hex[:8]}")
            .option("checkpointLocation", str(home / "checkpoint"))
            .trigger(**trigger)
            .start()
        )


def _ended(query: StreamingQuery, seconds: float) -> Run:
    """Wait for the end of a query, at most the given seconds."""
    failure = None
    try:
        if not query.awaitTermination(int(seconds)):
            failure = f"not at its end after {seconds:,.0f} s"
            query.stop()
    except StreamingQueryException as exc:
        failure = reason(exc)
    found = _found(query)
    found.failure = failure
    while found.batches and not found.batches[-1].records:
        found.batches.pop()  # a batch without data, which emits windows
    return found


def _found(query: StreamingQuery) -> Run:
    found = Run()
    for each in query.recentProgress:
        took = each["durationMs"]
        if "addBatch" in took:
            start = datetime.fromisoformat(each["timestamp"]).timestamp()
            found.batches.append(
                Batch(each["numInputRows"], start, took["triggerExecution"] / 1000)
            )
        results = each["observedMetrics"].get("results")
        found.results += results["n"] if results else 0
    return found


def _counted() -> tuple[Any, ...]:
    from pyspark.sql.functions import count, lit  # noqa: PLC0415  # only needed here

    return (count(lit(1)).alias("n"),)


CONTENDERS = {
    "kstreams frames, transform-with-state": Query(
        _frames("transform-with-state"),
        with_timers=_frames("transform-with-state", timers=True),
    ),
    "kstreams frames, group-state": Query(
        _frames("group-state"), _IN_MEMORY, with_timers=_frames("group-state", timers=True)
    ),
    "nothing, transformWithStateInPandas": Query(nothing("transform-with-state"), is_counted=False),
    "nothing, applyInPandasWithState": Query(nothing("group-state"), _IN_MEMORY, is_counted=False),
    "Spark's windowed groupBy": Query(_group_by, _IN_MEMORY),
    "Spark's windowed groupBy, its RocksDB": Query(_group_by),
    "transformWithStateInPandas by key": Query(by_key),
}
SLOW = "transformWithStateInPandas by key"


def run_app(session: SparkSession, given: Input, batches: list[pa.Table], home: Path) -> Run:
    """Run `App` to the end of its topics."""
    reports: list[tuple[float, BatchReport]] = []
    connection = given.write_topics(batches, home / "topics")
    app = App(
        topology(given.case),
        connection,
        state=RocksDB(directory=str(home / "local")),
        checkpoint=home / "checkpoint",
        spark=session,
        trigger=timedelta(0),
        max_records_per_batch=batches[0].num_rows,
        on_batch=lambda report: reports.append((time.time(), report)),
    )
    app.run(until="end")
    ended = [(when, report.source_records) for when, report in reports if report.source_records]
    made = [Batch(records, before, end - before) for (before, _), (end, records) in pairwise(ended)]
    first = Batch(ended[0][1], ended[0][0], 0.0)
    return Run([first, *made], sum(connection.admin().end_offsets("out").values()))
