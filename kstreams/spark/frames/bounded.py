"""Runs a stage on a bounded DataFrame: its tasks run once, and their state is discarded."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from kstreams.spark.frames.messages import MESSAGE, Message, message_table
from kstreams.spark.frames.stage import Stage

__all__ = ("run_bounded",)


def run_bounded(frame: DataFrame, stage: Stage) -> DataFrame:
    """Run a stage's tasks on all of a bounded DataFrame's messages.

    Args:
        frame: The messages, with the columns `MESSAGE`.
        stage: The stage whose tasks process the messages.
    """

    def run(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        rows = zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True)
        ran = stage.run(key[0].as_py(), map(Message._make, rows), None)
        return pa.Table.from_batches([message_table(ran.messages)])

    # A number of partitions that is asked for is left alone by adaptive execution: messages are
    # few, and so would all tasks be run by one.
    spread = frame.repartition(max(stage.layout.counts), "key")
    return spread.groupBy("key").applyInArrow(run, MESSAGE)
