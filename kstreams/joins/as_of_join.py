"""Join a stream with a table as it was, waiting for what comes late to the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.durations import milliseconds
from kstreams.joins.columns.as_of_join import AsOfColumns
from kstreams.joins.history import history_reader
from kstreams.joins.join_processor import ClosureJoinProcessor, found_in_store
from kstreams.joins.joiner import Joiner
from kstreams.joins.terms import Terms
from kstreams.joins.upcoming import Upcoming
from kstreams.processors.columns import ColumnProcessor, ColumnSource, Execution
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.queue.rows import Queued, QueueRows
from kstreams.state.stores.spec import StoreSpec

__all__ = ("AsOfJoin",)

_Process = Callable[[Record[Any, Any]], None]


@dataclass(frozen=True)
class AsOfJoin:
    """Makes the processors of `join_as_of`, and brings their stores.

    A record waits until a record of the stream is a grace newer; one that is that old when it
    comes is joined at once. The clock is the stream's own: neither the table nor null values
    move it. Null values are dropped as `null-value`; a null key has no row.

    Args:
        history: The table's store.
        joiner: An inner or a left one.
        grace_ms: How long records wait, ms.
        waiting: Where they do: a `queue_store`.
        execution: By columns where it can, never, or always.

    Source: `KStreamKTableJoinProcessor` with `Joined#gracePeriod` (KIP-923).
    """

    history: StoreSpec[Any]
    joiner: Joiner[Any, Any, Any, Any]
    grace_ms: int
    waiting: StoreSpec[Any]
    execution: Execution = "auto"

    def column_lookup(self, source: ColumnSource | None) -> ColumnProcessor | str:
        """Return a new processor that works by columns, or why there is none."""
        if source is not None and source.key != self.history.key:
            return f"keys come as {source.key.name}, and the table's are {self.history.key.name}"
        return AsOfColumns(
            self.history, self.joiner, source, grace_ms=self.grace_ms, waiting=self.waiting
        )

    def __call__(self) -> _AsOfJoin:
        """Return a new processor."""
        return _AsOfJoin(self)

    @property
    def join_terms(self) -> Terms:
        """Return which records without a row give a result, and how long records wait."""
        return {"how": self.joiner.how, "grace": self.grace_ms}

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store of the table and that of what waits."""
        return self.history, self.waiting


class _AsOfJoin(ClosureJoinProcessor[Any, Any, Any, Any, Any]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, join: AsOfJoin) -> None:
        self._join = join

    def bind(self, context: ProcessorContext[Any, Any]) -> tuple[_Process, _Process]:
        self._queue: QueueRows[Any, Any] = QueueRows.of(context.store(self._join.waiting))
        queue = self._queue
        self._upcoming: Upcoming[Queued] = Upcoming(
            queue.entries, queue.drop_before, self._join.grace_ms
        )
        self._now = self._joining(context)
        context.schedule(
            milliseconds(1), PunctuationType.STREAM_TIME, self._release_idle, name="idle"
        )
        context.on_end_of_run(self._release_all)
        return self._left(context), found_in_store

    def _left(self, context: ProcessorContext[Any, Any]) -> _Process:
        queue, upcoming, grace, now = self._queue, self._upcoming, self._join.grace_ms, self._now
        drop, release, inner = context.drop, self._release, self._join.joiner.how == "inner"

        def process(record: Record[Any, Any]) -> None:
            time = record.timestamp
            if record.value is None:
                drop("null-value")
            elif record.key is None and inner:
                drop("null-key")
            elif record.key is None or time <= queue.progress().released:
                now(record)
            else:
                upcoming.put(queue.put(record))
                release(queue.progress().newest - grace)

        return process

    def _joining(self, context: ProcessorContext[Any, Any]) -> _Process:
        """Return what joins a record now."""
        row_of = history_reader(self._join.history, context)
        function, inner = self._join.joiner.function, self._join.joiner.how == "inner"
        forward = context.forward

        def join(record: Record[Any, Any]) -> None:
            row = None if record.key is None else row_of(record.key, record.timestamp)
            if row is not None:
                forward(record.with_value(function(record.value, row[0])))
            elif not inner:
                forward(record.with_value(function(record.value, None)))

        return join

    def _release(self, until: int) -> None:
        """Join what waits and has this time (ms) or an earlier one, in order."""
        if until >= self._upcoming.next:
            queue = self._queue
            released = queue.progress().released
            for entry in self._upcoming.take(until + 1):
                record = queue.get(entry) if entry.time > released else None
                if record is not None:
                    self._now(record)
        self._queue.release(until)

    def _release_idle(self, now: int) -> None:
        """Release by stream time where it goes on without records."""
        if now <= self.context.idle_time:
            self._release(now - self._join.grace_ms)

    def _release_all(self) -> None:
        """Join all that waits."""
        last = self._queue.last_time()
        if last is not None:
            self._release(last)
