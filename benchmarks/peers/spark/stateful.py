"""Counts by user functions: one state a key, or a key and window, and one call for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

__all__ = ("by_apply", "by_processor")

SIZE_MS = 10_000
RESULT = "key STRING, start BIGINT, value BIGINT"


def by_apply(rows: DataFrame, workload: str) -> tuple[DataFrame, str]:
    """Count with `applyInPandasWithState`."""
    windowed = workload == "W1"
    timeout = GroupStateTimeout.EventTimeTimeout if windowed else GroupStateTimeout.NoTimeout
    counted = _grouped(rows, windowed).applyInPandasWithState(
        _count_until_close if windowed else _count, RESULT, "value BIGINT", "update", timeout
    )
    return counted, "update"


def by_processor(rows: DataFrame, workload: str) -> tuple[DataFrame, str]:
    """Count with `transformWithStateInPandas`."""
    windowed = workload == "W1"
    counted = _grouped(rows, windowed).transformWithStateInPandas(
        CountUntilClose() if windowed else Count(),
        outputStructType=RESULT,
        outputMode="Update",
        timeMode="EventTime" if windowed else "None",
    )
    return counted, "update"


def _grouped(rows: DataFrame, windowed: bool) -> Any:
    start = f"unix_millis(timestamp) div {SIZE_MS} * {SIZE_MS}" if windowed else "0L"
    slim = rows.withWatermark("timestamp", "10 seconds") if windowed else rows
    return slim.select("key", expr(start).alias("start"), "timestamp").groupBy("key", "start")


def _count(
    key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    before = state.get[0] if state.exists else 0
    total = before + sum(len(part) for part in parts)
    state.update((total,))
    yield _result(key, total)


def _count_until_close(
    key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        state.remove()
        return
    yield from _count(key, parts, state)
    state.setTimeoutTimestamp(int(key[1]) + SIZE_MS)


class Count(StatefulProcessor):
    """A count in a value state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._count = handle.getValueState("count", "value BIGINT")

    def handleInputRows(
        self,
        key: Any,
        rows: Any,
        timerValues: TimerValues,
    ) -> Iterator[pd.DataFrame]:
        before = self._count.get()
        total = (before[0] if before else 0) + sum(len(part) for part in rows)
        self._count.update((total,))
        yield _result(key, total)

    def close(self) -> None:
        pass


class CountUntilClose(Count):
    """The same of a window; a timer at its end clears the state."""

    def handleInputRows(
        self,
        key: Any,
        rows: Any,
        timerValues: TimerValues,
    ) -> Iterator[pd.DataFrame]:
        yield from super().handleInputRows(key, rows, timerValues)
        self._handle.registerTimer(int(key[1]) + SIZE_MS)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,
    ) -> Iterator[pd.DataFrame]:
        self._count.clear()
        yield from ()


def _result(key: tuple[Any, ...], total: int) -> pd.DataFrame:
    return pd.DataFrame({"key": [key[0]], "start": [int(key[1])], "value": [total]})
