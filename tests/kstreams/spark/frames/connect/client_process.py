"""A client process that starts a query on a server and waits for it: `client.py URL HOME`."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kstreams.frames import transform_frames
from tests.support.spark.file_streams import SETTINGS, Streams
from tests.support.topologies.frame_topologies import COUNTS, LINES, word_count

__all__ = ("NAME", "results", "started")

NAME = "counts"


def results(streams: Streams) -> DataFrame:
    """Return the results of the word count on a home's lines."""
    lines = streams.stream(LINES)
    made = transform_frames(word_count(), {LINES: lines}, state=streams.state, tasks=2, packages=())
    return made[COUNTS]


def started(streams: Streams, *, to_the_end: bool) -> StreamingQuery:
    """Start the query from its checkpoint.

    Args:
        streams: The directories of the query.
        to_the_end: Stop at the end of the present input; otherwise run until stopped.
    """
    writer = (
        results(streams)
        .writeStream.format("parquet")
        .queryName(NAME)
        .option("path", str(streams.home / "results"))
        .option("checkpointLocation", str(streams.home / "checkpoint"))
    )
    trigger = writer.trigger(availableNow=True) if to_the_end else writer
    return trigger.start()


def main() -> None:
    """Start the query; it continues if this process is killed."""
    session = SparkSession.builder.remote(sys.argv[1]).getOrCreate()
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    started(Streams(Path(sys.argv[2]), session), to_the_end=False).awaitTermination()


if __name__ == "__main__":
    main()
