"""Files as streams, and the results written from them, for tests of topologies on DataFrames."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kstreams import Record, Topic
from kstreams.frames import frame_settings
from kstreams.state.backend.memory import Memory
from kstreams.state.log.directory import Directory

SETTINGS = frame_settings(2, running=True, local_checkpoint=True)
SCHEMA = "key binary, value binary, timestamp timestamp, partition int, offset long"
Row = tuple[Any, Any, int]
"""Key, value and time (ms) of a result."""


class Streams:
    """Directories of Parquet files as the sources of a topology, below one home directory."""

    def __init__(self, home: Path, session: SparkSession) -> None:
        self.home = home
        self.session = session
        self._written = 0

    @property
    def state(self) -> Memory:
        """Return a backend whose log is below the home directory."""
        return Memory(log=Directory(str(self.home / "log")))

    def write(self, topic: Topic[Any, Any], records: Iterable[Record[Any, Any]]) -> None:
        """Add a file of records, which is one batch of the stream."""
        own = list(records)
        stamps = pa.array([r.timestamp * 1000 for r in own], pa.timestamp("us", tz="UTC"))
        count = len(own)
        table = pa.table(
            {
                "key": pa.array([encoded(topic.key, r.key) for r in own], pa.binary()),
                "value": pa.array([encoded(topic.value, r.value) for r in own], pa.binary()),
                "timestamp": stamps,
                "partition": pa.array([0] * count, pa.int32()),
                "offset": pa.array(range(self._written, self._written + count), pa.int64()),
            }
        )
        self._written += count
        self.add(topic.name, table)

    def add(self, topic: str, table: pa.Table) -> None:
        """Add a file, which is one batch of the stream."""
        folder = self.home / topic
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.iterdir()))
        path = folder / f"{number:05d}.parquet"
        pq.write_table(table, path)
        seconds = 1_700_000_000 + number  # Spark's file source orders files by it
        os.utime(path, (seconds, seconds))

    def stream(self, topic: Topic[Any, Any], schema: str = SCHEMA) -> DataFrame:
        """Return the files of a topic as a stream, one file per batch."""
        (self.home / topic.name).mkdir(parents=True, exist_ok=True)
        return (
            self.session.readStream.schema(schema)
            .option("maxFilesPerTrigger", 1)
            .parquet(str(self.home / topic.name))
        )

    def bounded(self, topic: Topic[Any, Any]) -> DataFrame:
        """Return the files of a topic as a bounded DataFrame."""
        return self.session.read.schema(SCHEMA).parquet(str(self.home / topic.name))

    def run(self, frame: DataFrame, name: str = "results") -> StreamingQuery:
        """Run a query on all present files, write Parquet files, and return the ended query."""
        query = (
            frame.writeStream.format("parquet")
            .option("path", str(self.home / name))
            .option("checkpointLocation", str(self.home / f"{name}-checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
        return query

    def read(self, name: str = "results") -> DataFrame:
        """Return the rows written by a query."""
        return self.session.read.parquet(str(self.home / name))


def encoded(serde: Any, item: Any) -> bytes | None:
    return None if item is None else serde.serialize(item)


def rows_of(frame: DataFrame, topic: Topic[Any, Any]) -> list[Row]:
    """Return the results of a topic, decoded and sorted."""
    table = frame.toArrow()
    if "topic" in table.column_names:
        table = table.filter(pc.equal(table.column("topic"), topic.name))
    found = [
        (
            None if key is None else topic.key.deserialize(key),
            None if value is None else topic.value.deserialize(value),
            stamp // 1000,
        )
        for key, value, stamp in zip(
            table.column("key").to_pylist(),
            table.column("value").to_pylist(),
            table.column("timestamp").cast(pa.int64()).to_pylist(),
            strict=True,
        )
    ]
    return sorted(found, key=repr)


def by_topic(frame: DataFrame, topics: Iterable[Topic[Any, Any]]) -> Mapping[str, list[Row]]:
    return {topic.name: rows_of(frame, topic) for topic in topics}
