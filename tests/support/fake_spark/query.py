"""A streaming query on the Spark fakes: its checkpoint, batches and state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from kstreams.batch.worker.worker_state import this_worker
from kstreams.spark import worker
from kstreams.state.backend import memory

__all__ = ("WIDTH", "Cell", "Parts", "PlayedQuery", "Reach", "Turn", "new_process", "sent")

WIDTH = "spark.sql.shuffle.partitions"
Parts = list[list[pa.RecordBatch]]
"""Rows by Spark partition."""
Reach = Callable[[str], object]
"""A callback for each moment of a batch; may raise."""


def new_process() -> None:
    """Drop all data that a worker keeps between batches, after its background work has ended."""
    this_worker().background.drain()
    this_worker.cache_clear()
    worker._loaded.clear()
    memory._CLOSED.clear()


class PlayedQuery:
    """A streaming query and its checkpoint, which survives restarts.

    Attributes:
        written: The rows in the sink by batch; the sink accepts each batch once.
        batches: The number of finished batches.
    """

    def __init__(self) -> None:
        self.batches = 0
        self.written: dict[int, pa.Table] = {}
        self._begun: dict[int, tuple[int, Mapping[str, pa.Table]]] = {}
        self._states: dict[tuple[int, int], dict[int, Cell]] = {}

    def start(self, frame: Any) -> None:
        """Start the query from the checkpoint."""
        self._frame = frame

    def batch(
        self, rows: Mapping[str, pa.Table], wall_ms: int, reach: Reach = lambda _: None
    ) -> None:
        """Run a batch; a batch that was begun and not finished is retried unchanged.

        The moments are `begun`, `task done` after each task, `state committed` after each
        partition of operator state, `computed`, `written` and `done`.
        """
        number = self.batches
        wall_ms, rows = self._begun.setdefault(number, (wall_ms, rows))
        reach("begun")
        table = self._frame.table(Turn(self, number, wall_ms, rows, reach))
        this_worker().background.drain()  # background work belongs to the batch
        reach("computed")
        known = self.written.setdefault(number, table)
        assert _bag(known) == _bag(table), "a batch that comes again gives other rows"
        reach("written")
        self.batches += 1
        reach("done")

    def cells(self, place: int, batch: int) -> dict[int, Cell]:
        """Return the state with which a batch of an operator begins."""
        found = self._states.get((place, batch - 1), {})
        return {key: replace(cell, timers=set(cell.timers)) for key, cell in found.items()}

    def keep(self, place: int, batch: int, cells: dict[int, Cell]) -> None:
        """Write a version of an operator's state; a retried batch overwrites it."""
        self._states[place, batch] = dict(cells)

    def records(self, place: int) -> dict[int, str]:
        """Return the records of tasks after an operator's last batch, by group key."""
        cells = self._states.get((place, self.batches - 1), {})
        return {key: cell.row[0] for key, cell in cells.items() if cell.row is not None}


@dataclass(frozen=True)
class Turn:
    """A running batch."""

    query: PlayedQuery
    number: int
    wall_ms: int
    rows: Mapping[str, pa.Table]
    reach: Reach = lambda _: None
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
                found.append(list(sent(function)(iter(part))))
        return found

    @contextmanager
    def task(self, partition: int) -> Iterator[None]:
        """Simulate a worker that runs a task of the batch, as seen by `TaskContext`."""
        context: Any = object.__new__(TaskContext)
        context._partitionId = partition
        context._localProperties = {}  # stale or missing within foreachBatch
        TaskContext._setTaskContext(context)
        try:
            yield
        finally:
            TaskContext._taskContext = None


@dataclass
class Cell:
    """The state of one group in Spark; plays the handles of both operators."""

    row: tuple[Any, ...] | None = None
    timers: set[int] = field(default_factory=set)
    now_ms: int = 0
    hasTimedOut: bool = False  # noqa: N815  # Spark's name

    def is_due(self, now_ms: int) -> bool:
        return any(due_ms < now_ms for due_ms in self.timers)

    # For transformWithState: the handle and its single value.

    def getValueState(self, *_: object) -> _Value:  # noqa: N802  # Spark's name
        return _Value(self)

    def listTimers(self) -> Iterator[int]:  # noqa: N802  # Spark's name
        yield from sorted(self.timers)

    def registerTimer(self, due_ms: int) -> None:  # noqa: N802  # Spark's name
        self.timers.add(due_ms)

    def deleteTimer(self, due_ms: int) -> None:  # noqa: N802  # Spark's name
        self.timers.discard(due_ms)

    # For applyInPandasWithState: GroupState.

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
    cell: Cell

    def get(self) -> tuple[Any, ...] | None:
        return self.cell.row

    def update(self, row: tuple[Any, ...]) -> None:
        self.cell.row = row


def sent(function: Any) -> Any:
    """Return a function after pickling, as a worker receives it."""
    data: bytes = cloudpickle.dumps(function)  # type: ignore[no-untyped-call]  # pyspark is untyped
    return cloudpickle.loads(data)


def _bag(table: pa.Table | None) -> Counter[str]:
    return Counter() if table is None else Counter(map(repr, table.to_pylist()))
