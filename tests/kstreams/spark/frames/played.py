"""Spark's part in a query on DataFrames, played in this process: no JVM, and a death at any moment.

All that is ours is real: what packs rows, runs tasks and unpacks results goes through pickles, as
on its way to workers. Played are the DataFrames, both stateful operators, with their state of
each batch and their timers, the log of batches that were begun, that of those that are done, and a
sink that writes each batch once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext, cloudpickle
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.stateful_processor import TimerValues
from pyspark.sql.types import StructType

from kstreams.batch.worker_state import this_worker
from kstreams.raw_batch import HEADERS_TYPE
from kstreams.spark import worker
from kstreams.state.backend import memory

__all__ = ("ROWS", "PlayedFrame", "PlayedQuery", "PlayedSession", "new_process", "rows_table")

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
"""Columns of a source's rows: as `SourceFrame` takes them out of any DataFrame."""

_SCHEMA = from_arrow_schema(ROWS)
_PROVIDER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_WIDTH = "spark.sql.shuffle.partitions"

Parts = list[list[pa.RecordBatch]]
"""Rows, by Spark partition."""
Reach = Callable[[str], object]
"""Is told each moment of a batch, and may raise."""


def rows_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return rows of `ROWS`."""
    return pa.Table.from_pylist([dict(row) for row in rows], ROWS)


def new_process() -> None:
    """Forget what a worker keeps from batch to batch."""
    this_worker.cache_clear()
    worker._loaded.clear()
    memory._CLOSED.clear()


class PlayedSession:
    """A session, with the settings that streams of DataFrames want; plays its `conf` too.

    Args:
        width: How many shuffle partitions there are.
        splits: Into how many partitions a source's rows of a batch are split.
    """

    def __init__(self, *, width: int = 2, splits: int = 1) -> None:
        self.splits = splits
        self.settings = {
            _WIDTH: str(width),
            "spark.sql.streaming.stateStore.providerClass": _PROVIDER,
            "spark.sql.streaming.unsupportedOperationCheck": "false",
        }

    @property
    def conf(self) -> PlayedSession:
        return self

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.settings.get(name, default)

    def stream(self, topic: str, *, streaming: bool = True) -> Any:
        """Return a topic's rows as a DataFrame."""
        return _Source(self, lambda turn: turn.source(topic, self.splits), isStreaming=streaming)

    def range(self, *_: int) -> PlayedFrame:
        """Return one row: a question to executors."""
        return PlayedFrame(self, lambda _: [[pa.RecordBatch.from_pydict({"id": [0]})]])


@dataclass(frozen=True)
class PlayedFrame:
    """A DataFrame, as far as topologies use one."""

    sparkSession: PlayedSession  # noqa: N815  # Spark's name
    parts: Callable[[_Turn], Parts]
    isStreaming: bool = True  # noqa: N815  # Spark's name

    @property
    def schema(self) -> StructType:
        return _SCHEMA

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
        """Return the rows of a bounded frame, or what executors say."""
        rows: list[dict[str, Any]] = self.table(
            _Turn(PlayedQuery(), 0, 0, {}, streaming=False)
        ).to_pylist()
        return rows

    def table(self, turn: _Turn) -> pa.Table:
        """Return the rows of a batch."""
        batches = [batch for part in self.parts(turn) for batch in part]
        return pa.Table.from_batches(batches) if batches else None

    def _with(self, parts: Callable[[_Turn], Parts]) -> PlayedFrame:
        return PlayedFrame(self.sparkSession, parts, self.isStreaming)


class _Source(PlayedFrame):
    """A DataFrame of `ROWS`; what is selected of it has the batch's time as well."""

    def selectExpr(self, *_: str) -> PlayedFrame:  # noqa: N802  # Spark's name
        def timed(turn: _Turn) -> Parts:
            return [
                [each.add_column(0, "wall", pa.array([turn.wall_ms] * each.num_rows, pa.int64()))]
                for part in self.parts(turn)
                for each in part
            ]

        return self._with(timed)


@dataclass(frozen=True)
class _Groups:
    """Messages by group key, for each of the operators."""

    frame: PlayedFrame

    def transformWithStateInPandas(  # noqa: N802  # Spark's name
        self, processor: Any, _schema: object, _mode: str, time_mode: str
    ) -> PlayedFrame:
        def run(turn: _Turn, key: int, rows: Any, cell: _Cell) -> Iterator[Any]:
            own = _sent(processor)
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
        def run(turn: _Turn, key: int, rows: Any, cell: _Cell) -> Iterator[Any]:
            cell.now_ms = turn.wall_ms
            cell.hasTimedOut = rows is None
            cell.timers.clear()
            yield from _sent(function)((key,), iter([] if rows is None else [rows]), cell)

        return self._stateful(run)

    def applyInArrow(self, function: Any, _: object) -> PlayedFrame:  # noqa: N802  # Spark's name
        def run(turn: _Turn) -> Parts:
            return [
                _sent(function)((pa.scalar(key, pa.int32()),), table).to_batches()
                for key, table in sorted(_by_key(self.frame.table(turn)).items())
            ]

        return self.frame._with(run)

    def _stateful(self, run: Callable[[_Turn, int, Any, _Cell], Iterator[Any]]) -> PlayedFrame:
        def parts(turn: _Turn) -> Parts:
            given = _by_key(self.frame.table(turn))
            place = next(turn.operators)
            cells = turn.query.cells(place, turn.number)
            width = int(self.frame.sparkSession.settings[_WIDTH])
            due = {key for key, cell in cells.items() if cell.is_due(turn.wall_ms)}
            found: Parts = []
            for partition in range(width):
                rows: list[pa.RecordBatch] = []
                for key in sorted(each for each in {*given, *due} if each % width == partition):
                    frame = given[key].to_pandas() if key in given else None
                    cell = cells.setdefault(key, _Cell())
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


@dataclass
class _Cell:
    """What Spark keeps of a group: plays its handles in both operators."""

    row: tuple[Any, ...] | None = None
    timers: set[int] = field(default_factory=set)
    now_ms: int = 0
    hasTimedOut: bool = False  # noqa: N815  # Spark's name

    def is_due(self, now_ms: int) -> bool:
        return any(due_ms < now_ms for due_ms in self.timers)

    # As transformWithState has it, by the handle and its one value.

    def getValueState(self, *_: object) -> _Value:  # noqa: N802  # Spark's name
        return _Value(self)

    def listTimers(self) -> Iterator[int]:  # noqa: N802  # Spark's name
        yield from sorted(self.timers)

    def registerTimer(self, due_ms: int) -> None:  # noqa: N802  # Spark's name
        self.timers.add(due_ms)

    def deleteTimer(self, due_ms: int) -> None:  # noqa: N802  # Spark's name
        self.timers.discard(due_ms)

    # As GroupState has it.

    @property
    def exists(self) -> bool:
        return self.row is not None

    @property
    def get(self) -> tuple[Any, ...]:
        assert self.row is not None
        return self.row

    def update(self, row: tuple[Any, ...]) -> None:
        self.row = row

    def getCurrentProcessingTimeMs(self) -> int:  # noqa: N802  # Spark's name
        return self.now_ms

    def setTimeoutDuration(self, span_ms: int) -> None:  # noqa: N802  # Spark's name
        self.timers = {self.now_ms + span_ms}


@dataclass(frozen=True)
class _Value:
    cell: _Cell

    def get(self) -> tuple[Any, ...] | None:
        return self.cell.row

    def update(self, row: tuple[Any, ...]) -> None:
        self.cell.row = row


@dataclass(frozen=True)
class _Turn:
    """A batch that runs."""

    query: PlayedQuery
    number: int
    wall_ms: int
    rows: Mapping[str, pa.Table]
    reach: Reach = lambda _: None
    streaming: bool = True
    operators: Iterator[int] = field(default_factory=count)

    def source(self, topic: str, splits: int) -> Parts:
        table = self.rows.get(topic)
        if table is None or not table.num_rows:
            return []
        places = pa.array(range(table.num_rows), pa.int64())
        found = [table.take(places[part::splits]) for part in range(splits)]
        return [each.combine_chunks().to_batches() for each in found]

    def mapped(self, function: Any, parts: Parts) -> Parts:
        found: Parts = []
        for number, part in enumerate(parts):
            with self.task(number):
                found.append(list(_sent(function)(iter(part))))
        return found

    @contextmanager
    def task(self, partition: int) -> Iterator[None]:
        """Be a worker that runs a task of the batch, as `TaskContext` tells."""
        context: Any = object.__new__(TaskContext)
        context._partitionId = partition
        context._localProperties = {}
        if self.streaming:
            context._localProperties = {
                "sql.streaming.queryId": self.query.id,
                "streaming.sql.batchId": str(self.number),
                "spark.jobGroup.id": self.query.run,
                _WIDTH: str(self.query.width),
            }
        TaskContext._setTaskContext(context)
        try:
            yield
        finally:
            TaskContext._taskContext = None


class PlayedQuery:
    """A streaming query and its checkpoint, which outlives its starts.

    Attributes:
        id: The query's.
        run: Of this start.
        written: By batch, what the sink has: it takes each batch once.
        batches: How many batches are done.
    """

    def __init__(self) -> None:
        self.id = str(uuid4())
        self.run = ""
        self.width = 0
        self.batches = 0
        self.written: dict[int, pa.Table] = {}
        self._begun: dict[int, tuple[int, Mapping[str, pa.Table]]] = {}
        self._states: dict[tuple[int, int], dict[int, _Cell]] = {}

    def start(self, frame: Any) -> None:
        """Begin on what the checkpoint has."""
        self.run = str(uuid4())
        self._frame: PlayedFrame = frame
        self.width = self.width or int(self._frame.sparkSession.settings[_WIDTH])

    def batch(
        self, rows: Mapping[str, pa.Table], wall_ms: int, reach: Reach = lambda _: None
    ) -> None:
        """Run a batch; one that was begun and is not done comes again, as it was.

        The moments are `begun`, for each task `task done`, for each partition of an operator's
        state `state committed`, `computed`, `written` and `done`.
        """
        number = self.batches
        wall_ms, rows = self._begun.setdefault(number, (wall_ms, rows))
        reach("begun")
        table = self._frame.table(_Turn(self, number, wall_ms, rows, reach))
        reach("computed")
        known = self.written.setdefault(number, table)
        assert _bag(known) == _bag(table), "a batch that comes again gives other rows"
        reach("written")
        self.batches += 1
        reach("done")

    def cells(self, place: int, batch: int) -> dict[int, _Cell]:
        """Return the state that a batch of an operator begins with."""
        found = self._states.get((place, batch - 1), {})
        return {key: replace(cell, timers=set(cell.timers)) for key, cell in found.items()}

    def keep(self, place: int, batch: int, cells: dict[int, _Cell]) -> None:
        """Write a version of an operator's state; a batch that comes again overwrites it."""
        self._states[place, batch] = dict(cells)

    def records(self, place: int) -> dict[int, str]:
        """Return what an operator's last batch has left of tasks, by group key."""
        cells = self._states.get((place, self.batches - 1), {})
        return {key: cell.row[0] for key, cell in cells.items() if cell.row is not None}


def _sent(function: Any) -> Any:
    """Return a function as a worker has it."""
    data: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]  # pyspark's
    return cloudpickle.loads(data)


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


def _bag(table: pa.Table | None) -> Counter[str]:
    return Counter() if table is None else Counter(map(repr, table.to_pylist()))
