"""A Spark session, rows from the input topics, and a query that writes to the output topic."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

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
from kstreams.spark.startup.java import java_home

__all__ = ("inputs_of", "records_of", "run", "session")


def session() -> SparkSession:
    """Return a session on all cores, with the same amount of memory as the other JVMs."""
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
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


def inputs_of(spark: SparkSession, loaded: Sequence[int] = ()) -> list[DataFrame]:
    """Return the input topics: key, value, timestamp.

    Args:
        spark: The session.
        loaded: Indices of the topics that are read once, with their current contents.
    """
    topics = os.environ["BENCH_INPUTS"].split(",")
    sizes, batch = _sizes(), int(os.environ["BENCH_BATCH"])
    streamed = sum(sizes) - records_of(loaded)
    made = []
    for place, (topic, size) in enumerate(zip(topics, sizes, strict=True)):
        reader: Any = spark.read if place in loaded else spark.readStream
        if place not in loaded:  # the topics advance in parallel
            share = batch * size // streamed if streamed else batch
            reader = reader.option("maxOffsetsPerTrigger", max(1, share))
        made.append(
            reader.format("kafka")
            .option("kafka.bootstrap.servers", os.environ["BENCH_BOOTSTRAP"])
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .load()
            .selectExpr("CAST(key AS STRING) AS key", "CAST(value AS STRING) AS value", "timestamp")
        )
    return made


def records_of(places: Sequence[int]) -> int:
    """Return the number of records of the inputs with these indices."""
    return sum(_sizes()[place] for place in places)


def _sizes() -> list[int]:
    return [int(size) for size in os.environ["BENCH_SIZES"].split(",")]


def run(results: DataFrame, mode: str, *, done: int = 0) -> None:
    """Write results as JSON to the output topic until SIGTERM.

    Args:
        results: The results, with a column `key`.
        mode: Spark's output mode.
        done: The number of records read before.
    """
    results.sparkSession.streams.addListener(_Progress(done))
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
    """Prints the number of processed records after each batch."""

    def __init__(self, done: int) -> None:
        self._done = done

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        if event.progress.numInputRows:
            self._done += event.progress.numInputRows
            print(f"progress {self._done}", flush=True)

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        pass
