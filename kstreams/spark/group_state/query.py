"""The streaming query that runs the partition groups of a pipeline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kstreams.spark.frames.settings import frame_settings
from kstreams.spark.frames.task_keys import key_of
from kstreams.spark.group_state.operators import with_stage
from kstreams.spark.group_state.stage import GroupStage

__all__ = ("GroupQuery",)

_STREAMING = "spark.sql.streaming"
_OWN = {
    f"{_STREAMING}.minBatchesToRetain": "10",
    f"{_STREAMING}.noDataMicroBatches.enabled": "false",
    f"{_STREAMING}.unsupportedOperationCheck": "false",
}
_SETTINGS = threading.Lock()  # held while a session has the settings of a query


@dataclass(frozen=True)
class GroupQuery:
    """A streaming query of chained stateful operators, one for each partition group.

    Its source gives each micro-batch one row for each task of the first group. The rows are calls
    without content: tasks get their calls from the driver (`calls.py`), and read and write topics
    themselves.

    Attributes:
        session: The session of the app.
        name: The name of the query, in Spark's pages and in `session.streams`.
        stages: The stages of the pipeline.
        checkpoint: A new folder for Spark's checkpoint, which all executors reach.
        is_local: Whether the folder is on this machine.
        on_batch: Called with the frame of the results in each micro-batch; see `foreachBatch`.
    """

    session: SparkSession
    name: str
    stages: Sequence[GroupStage]
    checkpoint: str
    is_local: bool
    on_batch: Callable[[DataFrame, int], None]

    def start(self) -> StreamingQuery:
        """Start the query, or continue it after a failure.

        The query belongs to the user's session, so that `session.streams` and its listeners include
        it. Its settings are set on the session only during the start, when Spark copies them.
        """
        counts = self.stages[0].counts
        settings = frame_settings(max(counts), running=True, local_checkpoint=self.is_local)
        with _SETTINGS, _changed(self.session, settings | _OWN):
            frame = self._ticks(counts[0])
            for stage in self.stages:
                frame = with_stage(frame, stage)
            writer = frame.writeStream.foreachBatch(self.on_batch).queryName(self._free_name())
            writer = writer.option("checkpointLocation", self.checkpoint)
            return writer.trigger(processingTime="0 seconds").start()

    def _free_name(self) -> str:
        """Return the name of the query; a number is appended if another query has the name."""
        taken = {query.name for query in self.session.streams.active}
        names = (f"{self.name}-{number}" for number in range(2, len(taken) + 3))
        return self.name if self.name not in taken else next(n for n in names if n not in taken)

    def _ticks(self, count: int) -> DataFrame:
        """Return a stream with one row for each task in each micro-batch, in columns `MESSAGE`.

        Args:
            count: The number of tasks of the first stage.
        """
        source = self.session.readStream.format("rate-micro-batch")
        rows = source.option("rowsPerBatch", count).option("numPartitions", 1).load()
        keys = ", ".join(str(key_of(task)) for task in range(count))
        return rows.selectExpr(
            f"element_at(array({keys}), CAST(value % {count} AS INT) + 1) AS key",
            "CAST(0 AS BIGINT) AS wall",
            "CAST('' AS BINARY) AS payload",
        )


@contextmanager
def _changed(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of a session, and restore them at the end."""
    old = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, before in old.items():
            if before is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, before)
