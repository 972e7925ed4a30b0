"""Fakes of Spark's DataFrames and stateful operators in this process, with crashes at any moment.

The library's parts are real: functions that pack rows, run tasks and unpack results are pickled as
on the way to workers. Fakes are the DataFrames, both stateful operators with the state of each
batch and timers, the logs of begun and of finished batches, and a sink that writes each batch once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import TimerValues
from pyspark.sql.types import StructType

from kstreams.raw_batch import HEADERS_TYPE
from tests.support.fake_spark.query import WIDTH, Cell, Parts, PlayedQuery, Turn, sent

__all__ = ("ROWS", "PlayedFrame", "PlayedSession", "rows_table")

ROWS = pa.schema(
    [
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", HEADERS_TYPE),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
    ]
)
"""The columns of a source's rows, as selected by `SourceFrame` from any DataFrame."""

_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def rows_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return a table with the schema `ROWS`."""
    return pa.Table.from_pylist([dict(row) for row in rows], ROWS)


class PlayedSession:
    """A fake `SparkSession` for streaming DataFrames; the object is also its own `conf`.

    Args:
        width: The number of shuffle partitions.
        splits: The number of partitions into which the rows of a source are split in a batch.
    """

    def __init__(self, *, width: int = 2, splits: int = 1) -> None:
        self.splits = splits
        self.settings = {
            WIDTH: str(width),
            "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
            "spark.sql.streaming.unsupportedOperationCheck": "false",
        }

    @property
    def conf(self) -> PlayedSession:
        return self

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.settings.get(name, default)

    def stream(self, topic: str, columns: pa.Schema = ROWS) -> Any:
        """Return the rows of a topic as a streaming DataFrame.

        Args:
            topic: The name of the topic.
            columns: The columns of `ROWS`; keys and values may have other types.
        """
        return _Source(self, lambda turn: turn.source(topic, self.splits), columns)

    def range(self, *_: int) -> PlayedFrame:
        """Return one row; the library uses it to run a check on executors."""
        return PlayedFrame(self, lambda _: [[pa.RecordBatch.from_pydict({"id": [0]})]])


@dataclass(frozen=True)
class PlayedFrame:
    """A fake DataFrame with the methods that topologies use."""

    sparkSession: PlayedSession  # noqa: N815  # Spark's name
    parts: Callable[[Turn], Parts]
    columns: pa.Schema = ROWS
    isStreaming: bool = True  # noqa: N815  # Spark's name

    @property
    def schema(self) -> StructType:
        return from_arrow_schema(self.columns)

    def selectExpr(self, *_: str) -> PlayedFrame:  # noqa: N802  # Spark's name
        return self

    def mapInArrow(self, function: Any, _: object) -> PlayedFrame:  # noqa: N802  # Spark's name
        return self._with(lambda turn: turn.mapped(function, self.parts(turn)))

    def unionByName(self, other: PlayedFrame) -> PlayedFrame:  # noqa: N802  # Spark's name
        return self._with(lambda turn: [*self.parts(turn), *other.parts(turn)])

    def repartition(self, *_: object) -> PlayedFrame:
        return self

    def groupBy(self, name: str) -> _Groups:  # noqa: N802  # Spark's name
        assert name == "key"
        return _Groups(self)

    def collect(self) -> list[dict[str, Any]]:
        """Return the rows of a bounded frame, or the answers of executors."""
        rows: list[dict[str, Any]] = self.table(Turn(PlayedQuery(), 0, 0, {})).to_pylist()
        return rows

    def table(self, turn: Turn) -> pa.Table:
        """Return the rows of a batch."""
        batches = [batch for part in self.parts(turn) for batch in part]
        return pa.Table.from_batches(batches) if batches else None

    def _with(self, parts: Callable[[Turn], Parts]) -> PlayedFrame:
        return PlayedFrame(self.sparkSession, parts)


class _Source(PlayedFrame):
    """A DataFrame of `ROWS`; a selection from it has the time of the batch as well."""

    def selectExpr(self, *_: str) -> PlayedFrame:  # noqa: N802  # Spark's name
        def timed(turn: Turn) -> Parts:
            return [
                [each.add_column(0, "wall", pa.array([turn.wall_ms] * each.num_rows, pa.int64()))]
                for part in self.parts(turn)
                for each in part
            ]

        return self._with(timed)


@dataclass(frozen=True)
class _Groups:
    """Messages grouped by key, with Spark's two stateful operators.

    The operators are `transformWithStateInPandas` and `applyInPandasWithState`.
    """

    frame: PlayedFrame

    def transformWithStateInPandas(  # noqa: N802  # Spark's name
        self, processor: Any, _schema: object, _mode: str, time_mode: str
    ) -> PlayedFrame:
        def run(turn: Turn, key: int, rows: Any, cell: Cell) -> Iterator[Any]:
            own = sent(processor)
            own.init(cell)
            now_ms = -1 if time_mode == "None" else turn.wall_ms
            times = TimerValues(now_ms, -1)
            if rows is not None:
                yield from own.handleInputRows((key,), iter([rows]), times)
            for due_ms in sorted(each for each in cell.timers if each < turn.wall_ms):
                cell.timers.discard(due_ms)
                yield from own.handleExpiredTimer((key,), times, None)

        return self._stateful(run)

    def applyInPandasWithState(  # noqa: N802  # Spark's name
        self, function: Any, _out: object, _state: object, _mode: str, _timeout: str
    ) -> PlayedFrame:
        def run(turn: Turn, key: int, rows: Any, cell: Cell) -> Iterator[Any]:
            cell.now_ms = turn.wall_ms
            cell.hasTimedOut = rows is None
            cell.timers.clear()
            yield from sent(function)((key,), iter([] if rows is None else [rows]), cell)

        return self._stateful(run)

    def applyInArrow(self, function: Any, _: object) -> PlayedFrame:  # noqa: N802  # Spark's name
        def run(turn: Turn) -> Parts:
            return [
                sent(function)((pa.scalar(key, pa.int32()),), table).to_batches()
                for key, table in sorted(_by_key(self.frame.table(turn)).items())
            ]

        return self.frame._with(run)

    def _stateful(self, run: Callable[[Turn, int, Any, Cell], Iterator[Any]]) -> PlayedFrame:
        def parts(turn: Turn) -> Parts:
            given = _by_key(self.frame.table(turn))
            place = next(turn.operators)
            cells = turn.query.cells(place, turn.number)
            width = int(self.frame.sparkSession.settings[WIDTH])
            due = {key for key, cell in cells.items() if cell.is_due(turn.wall_ms)}
            found: Parts = []
            for partition in range(width):
                rows: list[pa.RecordBatch] = []
                for key in sorted(each for each in {*given, *due} if each % width == partition):
                    frame = given[key].to_pandas() if key in given else None
                    cell = cells.setdefault(key, Cell())
                    with turn.task(partition):
                        for made in run(turn, key, frame, cell):
                            rows += _messages(made)
                    turn.reach("task done")
                turn.query.keep(place, turn.number, cells)
                turn.reach("state committed")
                found.append(rows)
            return found

        return self.frame._with(parts)


_MESSAGES = pa.schema([("key", pa.int32()), ("wall", pa.int64()), ("payload", pa.binary())])


def _messages(made: Any) -> list[pa.RecordBatch]:
    batches: list[pa.RecordBatch] = pa.Table.from_pandas(
        made, _MESSAGES, preserve_index=False
    ).to_batches()
    return batches


def _by_key(table: pa.Table | None) -> dict[int, pa.Table]:
    keys = [] if table is None else table.column("key").to_pylist()
    places: dict[int, list[int]] = {}
    for row, key in enumerate(keys):
        places.setdefault(key, []).append(row)
    return {} if table is None else {key: table.take(rows) for key, rows in places.items()}
