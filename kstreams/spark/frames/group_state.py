"""Runs a stage with `applyInPandasWithState`, which works with any state store of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from kstreams.batch.messages.envelope import DRIVER
from kstreams.spark.frames.messages import MESSAGE, RECORD
from kstreams.spark.frames.pandas_messages import frame_of, messages_of
from kstreams.spark.frames.stage import Stage
from kstreams.spark.frames.task_record import TaskRecord

__all__ = ("group_state",)


def group_state(frame: DataFrame, stage: Stage) -> DataFrame:
    """Run a stage's tasks on a stream of messages.

    Args:
        frame: The messages, with the columns `MESSAGE`.
        stage: The stage whose tasks process the messages.
    """
    timeout = GroupStateTimeout.NoTimeout
    if stage.timers:
        timeout = GroupStateTimeout.ProcessingTimeTimeout
    given = frame.groupBy("key").applyInPandasWithState(
        partial(_run, stage), MESSAGE, RECORD, "append", timeout
    )
    # Spark 4.1 gives columnar rows out, which its shuffle cannot take; what computes a column
    # copies them.
    return given.selectExpr(f"coalesce(key, {DRIVER}) AS key", "wall", "payload")


def _run(
    stage: Stage,
    key: tuple[Any, ...],
    frames: Iterable[Any],
    state: GroupState,
) -> Iterator[pd.DataFrame]:
    found = TaskRecord.from_json(state.get[0]) if state.exists else None
    now_ms = state.getCurrentProcessingTimeMs()
    timer_ms = now_ms if state.hasTimedOut else None
    ran = stage.run(int(key[0]), messages_of(frames), found, timer_ms=timer_ms)
    if ran.record is not None:
        state.update((ran.record.to_json(),))
    if stage.timers and state.exists:
        # A call takes the time-out away, also one that only hands messages on.
        record = TaskRecord.from_json(state.get[0])
        if record.due_ms is not None:
            state.setTimeoutDuration(max(record.due_ms - now_ms, 1))
    yield frame_of(ran.messages)
