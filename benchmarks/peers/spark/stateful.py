"""Counts with user functions: one state per key, one call per key and batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
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
    if workload == "W1":
        function: Any = _count_windows
        state, timeout = "windows MAP<BIGINT, BIGINT>", GroupStateTimeout.EventTimeTimeout
    else:
        function = _count
        state, timeout = "total BIGINT", GroupStateTimeout.NoTimeout
    by_key: Any = _slim(rows, workload).groupBy("key")
    return by_key.applyInPandasWithState(function, RESULT, state, "update", timeout), "update"


def by_processor(rows: DataFrame, workload: str) -> tuple[DataFrame, str]:
    """Count with `transformWithStateInPandas`."""
    windowed = workload == "W1"
    by_key: Any = _slim(rows, workload).groupBy("key")
    counted = by_key.transformWithStateInPandas(
        CountWindows() if windowed else Count(),
        outputStructType=RESULT,
        outputMode="Update",
        timeMode="EventTime" if windowed else "None",
    )
    return counted, "update"


def _slim(rows: DataFrame, workload: str) -> DataFrame:
    if workload == "W2":
        return rows.select("key", "timestamp")
    start = expr(f"unix_millis(timestamp) div {SIZE_MS} * {SIZE_MS}").alias("start")
    return rows.withWatermark("timestamp", "10 seconds").select("key", start, "timestamp")


def _count(
    key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    before = state.get[0] if state.exists else 0
    total = before + sum(len(part) for part in parts)
    state.update((total,))
    yield _results(key, [(0, total)])


def _count_windows(
    key: tuple[Any, ...], parts: Iterator[pd.DataFrame], state: GroupState
) -> Iterator[pd.DataFrame]:
    if state.hasTimedOut:
        state.remove()
        return
    new = _by_window(parts)
    closed = state.getCurrentWatermarkMs()
    before = state.get[0] if state.exists else {}
    counts = {start: n for start, n in before.items() if start + SIZE_MS > closed}
    for start, n in new.items():
        counts[start] = counts.get(start, 0) + n
    state.update((counts,))
    state.setTimeoutTimestamp(max(max(counts) + SIZE_MS, closed + 1))
    yield _results(key, [(start, counts[start]) for start in new])


class Count(StatefulProcessor):
    """The running count, in a value state."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._total = handle.getValueState("total", "value BIGINT")

    def handleInputRows(
        self, key: Any, rows: Any, timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        before = self._total.get()
        total = (before[0] if before else 0) + sum(len(part) for part in rows)
        self._total.update((total,))
        yield _results(key, [(0, total)])

    def close(self) -> None:
        pass


class CountWindows(StatefulProcessor):
    """The count of each window, in a map state; a timer at its end removes it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._counts = handle.getMapState("counts", "start BIGINT", "value BIGINT")

    def handleInputRows(
        self, key: Any, rows: Any, timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        results = []
        for start, n in _by_window(rows).items():
            before = self._counts.getValue((start,))
            total = (before[0] if before else 0) + n
            self._counts.updateValue((start,), (total,))
            self._handle.registerTimer(start + SIZE_MS)
            results.append((start, total))
        yield _results(key, results)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        self._counts.removeKey((expiredTimerInfo.getExpiryTimeInMs() - SIZE_MS,))
        yield from ()

    def close(self) -> None:
        pass


def _by_window(parts: Iterable[pd.DataFrame]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for part in parts:
        counts.update(part["start"].tolist())
    return counts


def _results(key: tuple[Any, ...], counts: list[tuple[int, int]]) -> pd.DataFrame:
    starts, values = zip(*counts, strict=True)
    return pd.DataFrame({"key": key[0], "start": starts, "value": values})
