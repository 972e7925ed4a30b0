"""What a workload is: its data, what must come out, and how this library and Spark do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from benchmarks.suite.dataset import Dataset
from kstreams import Topology

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ("Expected", "ResultKey", "Shape", "Workload")

ResultKey = tuple[bytes, int, int]
"""What a result is about: key, start and end of its window; 0 where there is none."""

Expected = Mapping[ResultKey, tuple[Any, int | None]]
"""By result key: the last value, and the result's event time where it is certain."""

Shape = Literal["plain", "window", "session"]
"""What belongs to a result's key: no window, a window's start, a session's start and end."""


@dataclass(frozen=True)
class Workload:
    """One thing to compute.

    Args:
        name: What the command line calls it.
        title: One line about it.
        dataset: Where its records come from.
        shape: What belongs to a result's key.
        expected: The results, by a plain computation on the dataset's records as made by
            `Dataset.records`.
        topology: The library's topology. Takes the names of the input and the output topic
            and the path, `vector` or `record`; results go out as windowed keys
            (`kstreams.windows.windowed`) and INT64, or as text of JSON for other values.
        spark: Spark's own query. Takes rows `(key, value, timestamp)` as strings and
            timestamp; returns `(key, start, end, value)`, start and end in ms, and Spark's
            output mode. None: Spark cannot.
        paths: Which paths the topology has.
        records: How many records a full run has.
        final: Merge two values of one result key, the earlier first; None: the later wins.
    """

    name: str
    title: str
    dataset: Dataset
    shape: Shape
    expected: Callable[[pa.Table], Expected]
    topology: Callable[[str, str, Literal["vector", "record"]], Topology] | None = None
    spark: Callable[[DataFrame], tuple[DataFrame, str]] | None = None
    paths: tuple[Literal["vector", "record"], ...] = ("vector", "record")
    records: int = 1_000_000
    final: Callable[[Any, Any], Any] | None = None
