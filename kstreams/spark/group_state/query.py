"""The streaming query that runs the partition groups of a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kstreams.spark.frames.operators import Operator
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


@dataclass(frozen=True)
class GroupQuery:
    """A streaming query of chained stateful operators, one for each partition group.

    Its source gives each micro-batch one row for each task of the first group. The rows are calls
    without content: tasks get their calls from the driver (`calls.py`), and read and write topics
    themselves.

    Attributes:
        session: The session of the app.
        name: The name of the query, in Spark's pages.
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
        """Start the query, or continue it after a failure."""
        counts = self.stages[0].counts
        settings = frame_settings(max(counts), running=True, local_checkpoint=self.is_local)
        session = self.session.newSession()
        for name, value in (settings | _OWN).items():
            session.conf.set(name, value)
        frame = self._ticks(session, counts[0])
        operator: Operator = "group-state"
        for stage in self.stages:
            frame = with_stage(frame, stage, operator)
        writer = frame.writeStream.foreachBatch(self.on_batch).queryName(self.name)
        writer = writer.option("checkpointLocation", self.checkpoint)
        return writer.trigger(processingTime="0 seconds").start()

    def _ticks(self, session: SparkSession, count: int) -> DataFrame:
        """Return a stream of a row for each task and micro-batch, with the columns `MESSAGE`."""
        source = session.readStream.format("rate-micro-batch")
        rows = source.option("rowsPerBatch", count).option("numPartitions", 1).load()
        keys = ", ".join(str(key_of(task)) for task in range(count))
        return rows.selectExpr(
            f"element_at(array({keys}), CAST(value % {count} AS INT) + 1) AS key",
            "CAST(0 AS BIGINT) AS wall",
            "CAST('' AS BINARY) AS payload",
        )
