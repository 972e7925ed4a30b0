"""The stateful Spark operator of a partition group; its state has one row for each task."""

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
from kstreams.spark.group_state.stage import GroupStage

__all__ = ("with_stage",)


def with_stage(frame: DataFrame, stage: GroupStage) -> DataFrame:
    """Return the results of a stage that runs on a stream of messages.

    Args:
        frame: The messages, with the columns `MESSAGE`.
        stage: The stage whose tasks process the messages.
    """
    found = frame.groupBy("key").applyInPandasWithState(
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
