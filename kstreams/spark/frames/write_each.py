"""Writes the results of one query to several destinations, with one computation for each batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from kstreams.errors import CompileError
from kstreams.quoting import text_of
from kstreams.spark.frames.dropped import observed
from kstreams.spark.frames.results import ResultFrames, rows_of_topic
from kstreams.spark.frames.sessions import is_connect
from kstreams.spark.frames.shipped import Carried
from kstreams.topic import Topic
from kstreams.workers.pickling import dumped

__all__ = ("FrameWriter", "write_each")

FrameWriter = Callable[[DataFrame, int], None]
"""Writes one batch's results of a topic; the batch number is equal if the batch is repeated."""
_Writers = Mapping[str, FrameWriter]
"""The functions that write results, by topic name."""


def write_each(
    results: ResultFrames, writers: Mapping[Topic[Any, Any] | str, FrameWriter]
) -> DataStreamWriter:
    """Return the writer of one query that passes each topic's results to a function.

    Each batch is computed once, cached while the functions run one after another, and released. If
    a function fails, the batch is repeated with the same number and the same rows: the function
    must write idempotently.

    Args:
        results: The results of a stream.
        writers: The functions by topic. They run on the driver; on Spark Connect in a process of
            the server. Without a function for `ResultFrames.dropped_topic`, the query has the same
            metric as one on `ResultFrames.all`.

    Returns:
        A writer; call `option("checkpointLocation", ...)` and `start()` on it.

    Raises:
        CompileError: The topology does not write to one of the topics; or a function cannot be sent
            to the Spark Connect server.
    """
    chosen = {results.name_of(topic): writer for topic, writer in writers.items()}
    frame = results.with_dropped
    if results.dropped_topic not in chosen:
        frame = observed(frame, results.dropped_topic)
    if not is_connect(frame.sparkSession):
        return frame.writeStream.foreachBatch(partial(_write, chosen))
    carried: Carried[_Writers] = Carried.of(_pickled(chosen), results.shipped)
    return frame.writeStream.foreachBatch(partial(_write_carried, carried))


def _pickled(writers: _Writers) -> bytes:
    try:
        return dumped(writers)
    except Exception as exc:  # whatever an object of the user's raises
        raise CompileError(
            f"a function of write_each cannot be sent to Spark's server: {text_of(exc)}",
            hint="Open the destination inside the function; take the session from the DataFrame "
            "that the function gets.",
        ) from exc


def _write_carried(carried: Carried[_Writers], frame: DataFrame, batch: int) -> None:
    """Write a batch on a Spark Connect server, where the pickled functions are loaded."""
    _write(carried.get(), frame, batch)


def _write(writers: _Writers, frame: DataFrame, batch: int) -> None:
    frame.persist()
    try:
        for topic, writer in writers.items():
            writer(rows_of_topic(frame, topic), batch)
    finally:
        frame.unpersist()
