"""Stateful Spark operators that run a partition group, with a row of state for each task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
    ValueState,
)

from kstreams.batch.messages.envelope import DRIVER
from kstreams.spark.frames.messages import MESSAGE, RECORD
from kstreams.spark.frames.operators import Operator
from kstreams.spark.frames.pandas_messages import frame_of, messages_of
from kstreams.spark.group_state.stage import GroupStage

__all__ = ("with_stage",)


def with_stage(frame: DataFrame, stage: GroupStage, operator: Operator) -> DataFrame:
    """Run a stage on a stream of messages.

    Args:
        frame: The messages, with the columns `MESSAGE`.
        stage: The stage whose tasks process the messages.
        operator: The stateful Spark operator that runs the tasks.
    """
    grouped = frame.groupBy("key")
    if operator == "transform-with-state":
        return grouped.transformWithStateInPandas(_StageProcessor(stage), MESSAGE, "append", "None")
    found = grouped.applyInPandasWithState(
        partial(_run, stage), MESSAGE, RECORD, "append", GroupStateTimeout.NoTimeout
    )
    # Spark's shuffle cannot take the columnar rows of this operator; a computed column copies them.
    return found.selectExpr(f"coalesce(key, {DRIVER}) AS key", "wall", "payload")


def _run(
    stage: GroupStage, key: tuple[Any, ...], frames: Iterable[Any], state: GroupState
) -> Iterator[pd.DataFrame]:
    ran = stage.run(int(key[0]), messages_of(frames))
    if ran.record is not None:
        state.update((ran.record,))
    yield frame_of(ran.messages)


class _StageProcessor(StatefulProcessor):
    """The `StatefulProcessor` that runs a stage."""

    def __init__(self, stage: GroupStage) -> None:
        self._stage = stage
        self._record: ValueState | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the value in Spark's state that holds the row of the task."""
        self._record = handle.getValueState("task", RECORD)

    def handleInputRows(  # type: ignore[override]  # noqa: N802  # in pandas; Spark's name
        self,
        key: Any,  # noqa: ANN401  # as Spark has it
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: N803  # Spark's name
    ) -> Iterator[pd.DataFrame]:
        """Run the task of a group key on its messages; yield its messages as one frame."""
        ran = self._stage.run(int(key[0]), messages_of(rows))
        if ran.record is not None and self._record is not None:
            self._record.update((ran.record,))
        yield frame_of(ran.messages)

    def close(self) -> None:
        """Do nothing."""
