"""Simple computations of expected results with pandas, over all records of a dataset."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.suite.workload import Expected

__all__ = ("each_key", "sessions", "windows")


def each_key(table: pa.Table) -> Expected:
    """Count the records of each key."""
    groups = _frame(table).groupby("key")["timestamp"].agg(["size", "max"])
    return {
        (bytes(key), 0, 0): (int(count), int(time))
        for key, count, time in groups.itertuples(name=None)
    }


def windows(table: pa.Table, size_ms: int, advance_ms: int, column: str | None = None) -> Expected:
    """Count records, or sum a column, by key and window of `size_ms` every `advance_ms`."""
    frame = _frame(table)
    last = frame["timestamp"] // advance_ms * advance_ms
    parts = []
    for back in range(0, size_ms, advance_ms):
        part = frame.assign(start=last - back)
        parts.append(part[part["timestamp"] < part["start"] + size_ms])
    wanted: Any = (column, "sum") if column else ("timestamp", "size")
    groups = pd.concat(parts).groupby(["key", "start"])
    found = groups.agg(value=wanted, time=("timestamp", "max"))
    return {
        (bytes(key), int(start), 0): (int(value), int(time))
        for (key, start), value, time in found.itertuples(name=None)
    }


def sessions(table: pa.Table, gap_ms: int, by: str = "key") -> Expected:
    """Count the records of each key's sessions; the gap between two records is at most `gap_ms`."""
    frame = _frame(table).sort_values([by, "timestamp"], kind="stable")
    keys, times = frame[by].to_numpy(), frame["timestamp"].to_numpy()
    first = np.ones(len(frame), dtype=bool)
    first[1:] = (keys[1:] != keys[:-1]) | (np.diff(times) > gap_ms)
    starts = np.flatnonzero(first)
    ends = np.append(starts[1:], len(frame))
    return {
        (_bytes(keys[start]), int(times[start]), int(times[end - 1])): (
            int(end - start),
            int(times[end - 1]),
        )
        for start, end in zip(starts, ends, strict=True)
    }


def _bytes(key: Any) -> bytes:
    return key if isinstance(key, bytes) else str(key).encode()


def _frame(table: pa.Table) -> pd.DataFrame:
    frame: pd.DataFrame = table.drop_columns(["value"]).to_pandas()
    return frame
