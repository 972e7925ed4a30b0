"""The windowed count with Spark's stateful processor: a call per key, Spark's state and timers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.frames.records import SIZE_MS, Input

__all__ = ("by_key",)


def by_key(rows: DataFrame, given: Input, home: Path) -> DataFrame:
    """Count the records of each key and window; emit counts when the watermark passes its end."""
    timed = rows.withWatermark("timestamp", "0 seconds").selectExpr(
        "key", f"unix_millis(timestamp) div {SIZE_MS} * {SIZE_MS} as start", "timestamp"
    )
    grouped: Any = timed.groupBy("key")
    counted: DataFrame = grouped.transformWithStateInPandas(
        _Windows(), "key STRING, start BIGINT, count BIGINT", "Append", "EventTime"
    )
    return counted


class _Windows(StatefulProcessor):
    """Counts of a key's windows; emits each count once, when the watermark passes the window."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._counts = handle.getMapState("counts", "start BIGINT", "value BIGINT")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        for part in rows:
            for start, count in part["start"].value_counts().items():
                before = self._counts.getValue((int(start),))
                total = (before[0] if before else 0) + int(count)
                self._counts.updateValue((int(start),), (total,))
                self._handle.registerTimer(int(start) + SIZE_MS)
        yield _results(key, [])

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pd.DataFrame]:
        start = expiredTimerInfo.getExpiryTimeInMs() - SIZE_MS
        found = self._counts.getValue((start,))
        self._counts.removeKey((start,))
        yield _results(key, [(start, found[0])] if found else [])

    def close(self) -> None:
        pass


def _results(key: Any, results: list[tuple[int, int]]) -> pd.DataFrame:
    # pandas would build chunked Arrow text, and Spark rejects chunks in a struct field.
    keys: list[object] = [str(key[0])] * len(results)
    return pd.DataFrame(
        {
            "key": pd.Series(keys, dtype="object"),
            "start": pd.Series([start for start, _ in results], dtype="int64"),
            "count": pd.Series([count for _, count in results], dtype="int64"),
        }
    )
