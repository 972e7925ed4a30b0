"""Runs a stage with `transformWithStateInPandas`, which allows chains and has timers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)

from kstreams.spark.frames.messages import MESSAGE, RECORD, Message
from kstreams.spark.frames.pandas_messages import frame_of, messages_of
from kstreams.spark.frames.sessions import is_connect
from kstreams.spark.frames.stage import Stage
from kstreams.spark.frames.task_record import TaskRecord

__all__ = ("transform_with_state",)

_MOST_BYTES = 900_000
"""The maximum bytes of a function. Spark broadcasts a larger one
(`spark.broadcast.UDFCompressionThreshold`), and the worker that returns the state's schema at the
start of a query cannot read a broadcast."""


def transform_with_state(frame: DataFrame, stage: Stage) -> DataFrame:
    """Run a stage's tasks on a stream of messages.

    Args:
        frame: The messages, with the columns `MESSAGE`.
        stage: The stage whose tasks process the messages.
    """
    if stage.size_bytes > _MOST_BYTES and not is_connect(frame.sparkSession):
        stage = stage.in_file(frame.sparkSession)
    return frame.groupBy("key").transformWithStateInPandas(
        _StageProcessor(stage), MESSAGE, "append", "ProcessingTime" if stage.timers else "None"
    )


class _StageProcessor(StatefulProcessor):
    """The `StatefulProcessor` that runs a stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._handle: StatefulProcessorHandle | None = None
        self._record: ValueState | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the value in Spark's state that holds the record of the task."""
        self._handle = handle
        self._record = handle.getValueState("task", RECORD)

    def handleInputRows(  # type: ignore[override]  # noqa: N802  # in pandas; Spark's name
        self,
        key: Any,  # noqa: ANN401  # as Spark has it
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803  # Spark's name
    ) -> Iterator[pd.DataFrame]:
        """Run the task of a group key on its messages; yield its messages as one frame."""
        yield self._run(int(key[0]), messages_of(rows), timerValues)

    def handleExpiredTimer(  # noqa: N802  # Spark's name
        self,
        key: Any,  # noqa: ANN401  # as Spark has it
        timerValues: TimerValues,  # noqa: N803  # Spark's name
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803  # as above
    ) -> Iterator[pd.DataFrame]:
        """Run the wall-clock work of the task of a group key; yield its messages as one frame."""
        yield self._run(int(key[0]), (), timerValues, is_timer=True)

    def close(self) -> None:
        """Do nothing."""

    def _run(
        self, key: int, messages: Iterable[Message], times: TimerValues, *, is_timer: bool = False
    ) -> pd.DataFrame:
        handle, state = self._handle, self._record
        if handle is None or state is None:
            raise RuntimeError("Spark called the processor before its init")
        now_ms = times.getCurrentProcessingTimeInMs()  # -1 in time mode None
        found = state.get()
        record = None if found is None else TaskRecord.from_json(found[0])
        ran = self._stage.run(key, messages, record, timer_ms=now_ms if is_timer else None)
        if ran.record is not None:
            state.update((ran.record.to_json(),))
            if self._stage.timers:  # without them Spark does not fail by such a call: it hangs
                _set_timer(handle, ran.record.due_ms, now_ms)
        return frame_of(ran.messages)


def _set_timer(handle: StatefulProcessorHandle, due_ms: int | None, now_ms: int) -> None:
    """Replace all timers of a task by one at `due_ms`, or by none if that is None.

    The timer is always later than the wall time of the batch, `now_ms`.
    """
    wanted = set() if due_ms is None else {max(due_ms, now_ms + 1)}
    present = set(handle.listTimers())
    for timer in sorted(present - wanted):
        handle.deleteTimer(timer)
    for timer in wanted - present:
        handle.registerTimer(timer)
