"""A Spark session, its rows from the input topic, and a query that writes to the output topic."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import struct, to_json
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.peers.spark.connector import kafka_connector_jars
from benchmarks.suite.dataset import PARTITIONS
from kstreams.spark.java import java_home

__all__ = ("rows", "run", "session")


def session() -> SparkSession:
    """Return a session on all cores, with as much memory as the other JVMs have."""
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    made = (
        SparkSession.builder.master("local[*]")
        .config("spark.jars", ",".join(str(jar) for jar in kafka_connector_jars()))
        .config("spark.driver.memory", "1g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", str(PARTITIONS))
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    made.streams.addListener(_Progress())
    return made


def rows(spark: SparkSession) -> DataFrame:
    """Return the input topic: key, value, timestamp."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", os.environ["BENCH_BOOTSTRAP"])
        .option("subscribe", os.environ["BENCH_INPUT"])
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", os.environ["BENCH_BATCH"])
        .load()
        .selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value", "timestamp")
    )


def run(results: DataFrame, mode: str) -> None:
    """Write results as JSON to the output topic until SIGTERM."""
    columns = [name for name in results.columns if name != "key"]
    query: StreamingQuery = (
        results.select("key", to_json(struct(*columns)).alias("value"))
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", os.environ["BENCH_BOOTSTRAP"])
        .option("topic", os.environ["BENCH_OUTPUT"])
        .option("checkpointLocation", str(Path(os.environ["BENCH_HOME"]) / "checkpoint"))
        .outputMode(mode)
        .start()
    )
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    while query.isActive:
        query.awaitTermination(1)


class _Progress(StreamingQueryListener):
    """Says after each batch how many records are done."""

    def __init__(self) -> None:
        self._done = 0

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        if event.progress.numInputRows:
            self._done += event.progress.numInputRows
            print(f"progress {self._done}", flush=True)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        pass
