"""A Spark query with the same operators as the library's, whose functions do nothing.

Its cost is a lower bound for the library.

Workers get the same two optimizations as in the library: no Spark archives on the Python path, and
no garbage collection of imported modules. Without them, the query takes several times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.state import GroupStateTimeout
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from benchmarks.frames.records import TASKS, Input
from kstreams.spark.worker import drop_spark_archives, shorten_collections

__all__ = ("nothing",)

_ROW = "key int, wall long, payload binary"
_SCHEMA = pa.schema([("key", pa.int32()), ("wall", pa.int64()), ("payload", pa.binary())])
_STATE = "record string"


def nothing(operator: str) -> Callable[[DataFrame, Input, Path], DataFrame]:
    """Return a query that reads rows, calls a stateful function once per task, and emits nothing.

    Args:
        operator: Name of the stateful operator, a `kstreams.frames.Operator`.
    """

    def made(rows: DataFrame, given: Input, home: Path) -> DataFrame:
        grouped: Any = rows.select("key", "raw", "timestamp").mapInArrow(_one_a_task, _ROW)
        grouped = grouped.groupBy("key")
        if operator == "group-state":
            timeout = GroupStateTimeout.NoTimeout
            kept = grouped.applyInPandasWithState(_keep, _ROW, _STATE, "append", timeout)
        else:
            kept = grouped.transformWithStateInPandas(_Keep(), _ROW, "append", "None")
        done: DataFrame = kept.mapInArrow(_none, _ROW)
        return done

    return made


def _one_a_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    _spare()
    for _ in batches:
        pass
    columns = list(range(TASKS)), [0] * TASKS, [b""] * TASKS
    yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=_SCHEMA.names).cast(
        _SCHEMA
    )


def _none(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    _spare()
    for batch in batches:
        yield batch.slice(0, 0)


def _spare() -> None:
    drop_spark_archives()
    shorten_collections()


def _keep(key: Any, frames: Iterable[Any], state: Any) -> Iterator[pd.DataFrame]:
    _spare()
    for _ in frames:
        pass
    state.update((state.get[0] if state.exists else "first",))
    yield _empty()


class _Keep(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self._record = handle.getValueState("task", _STATE)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        _spare()
        for _ in rows:
            pass
        found = self._record.get()
        self._record.update(("first" if found is None else found[0],))
        yield _empty()

    def close(self) -> None:
        pass


def _empty() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "key": pd.Series([], dtype="int32"),
            "wall": pd.Series([], dtype="int64"),
            "payload": pd.Series([], dtype="object"),
        }
    )
