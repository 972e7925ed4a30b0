"""Several sinks of one query, without computing anything twice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kstreams.spark.frames.results import ResultFrames
from kstreams.topic import Topic

__all__ = ("write_each",)

Writer = Callable[[DataFrame, int], None]
"""Writes one batch's results of a topic; gets the batch's number, the same if it comes again."""


def write_each(
    results: ResultFrames, writers: Mapping[Topic[Any, Any] | str, Writer]
) -> DataStreamWriter:
    """Return the writer of one query that hands each topic's results to a function.

    Each batch is computed once, kept while the functions run, one after the other, and let go.
    Where one of them fails the batch comes again, with the same number and the same rows: a
    function has to write so that this does no harm.

    Args:
        results: Of a stream.
        writers: By topic, what writes its results. They run on the driver, or on the server
            of Spark Connect.

    Returns:
        A writer on which `option("checkpointLocation", ...)` and `start()` are still to be
        called.

    Raises:
        CompileError: The topology does not write to one of the topics.
    """
    for topic in writers:
        results.part(results.all, topic)
    chosen = {topic if isinstance(topic, str) else topic.name: w for topic, w in writers.items()}

    def write(frame: DataFrame, batch: int) -> None:
        frame.persist()
        try:
            for topic, writer in chosen.items():
                own = frame.where(frame.topic == topic)
                writer(own.select("key", "value", "timestamp", "headers"), batch)
        finally:
            frame.unpersist()

    return results.all.writeStream.foreachBatch(write)
