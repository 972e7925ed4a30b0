"""Join a stream with a versioned table at the record's time, after a grace for late table rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.durations import milliseconds
from kstreams.joins.columns.as_of_join import AsOfColumns
from kstreams.joins.join_processor import ClosureJoinProcessor, found_in_store
from kstreams.joins.join_terms import Terms
from kstreams.joins.joiner import Joiner
from kstreams.joins.lookup_form import lookup_form
from kstreams.joins.streams.due_index import Upcoming
from kstreams.joins.table_rows import RowMaker, TableRows
from kstreams.joins.tables.history import history_reader, versions_of
from kstreams.processors.column_form import NodeForm
from kstreams.processors.columns import ColumnProcessor, ColumnSource, Execution
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.queue.rows import Queued, QueueRows
from kstreams.state.stores.spec import StoreSpec

__all__ = ("AsOfJoin",)

_Process = Callable[[Record[Any, Any]], None]


@dataclass(frozen=True)
class AsOfJoin:
    """Creates the processors of `join_as_of`, and declares their stores.

    A record waits until the stream has a record that is newer by at least the grace; a record that
    is already that old is joined at once. Records are also joined when stream time advances without
    records, and at the end of a run that closes windows. Only records of the stream with a key and
    a value release others. Records with a null value are dropped as `null-value`. A record with a
    null key has no row: an inner join drops it as `null-key`, a left join forwards it at once.

    Args:
        history: The rows of the versioned table.
        joiner: An inner or a left joiner.
        grace_ms: Waiting time of records, ms.
        waiting: The `queue_store` of the waiting records.
        execution: `auto` (by columns if possible), `records` (by records) or `columns`.

    Source: `KStreamKTableJoinProcessor` with `Joined#gracePeriod` (KIP-923).
    """

    history: TableRows
    joiner: Joiner[Any, Any, Any, Any]
    grace_ms: int
    waiting: StoreSpec[Any]
    execution: Execution = "auto"

    @property
    def column_form(self) -> NodeForm:
        """Return the column form."""
        return lookup_form(self.history, self.execution, self._columns)

    def _columns(
        self, store: StoreSpec[Any], source: ColumnSource | None, maker: RowMaker | None
    ) -> ColumnProcessor:
        grace, waiting = self.grace_ms, self.waiting
        return AsOfColumns(store, self.joiner, source, maker, grace_ms=grace, waiting=waiting)

    def problems(self) -> tuple[str, ...]:
        """Return an error if the grace is longer than the table's history; otherwise nothing."""
        store = versions_of(self.history).store
        retention = store.kind.history_ms
        if retention is None or self.grace_ms <= retention:
            return ()
        problem = (
            f"its grace is {self.grace_ms} ms, but store {store.name!r} keeps versions for "
            f"{retention} ms: make the retention of the store at least as long as the grace"
        )
        return (problem,)

    def __call__(self) -> _AsOfJoin:
        """Return a new processor."""
        return _AsOfJoin(self)

    @property
    def join_terms(self) -> Terms:
        """Return the kind of join, and the grace in ms."""
        return {"how": self.joiner.how, "grace": self.grace_ms}

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the stores of the table and of the waiting records."""
        return *self.history.stores, self.waiting

    @property
    def keyed_stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the stores of the table and of the waiting records."""
        return self.stores


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
        """Return a function that joins a record at once."""
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
        """Join the waiting records with a timestamp up to `until` (ms), in order."""
        if until >= self._upcoming.next:
            queue = self._queue
            released = queue.progress().released
            for entry in self._upcoming.take(until + 1):
                record = queue.get(entry) if entry.time > released else None
                if record is not None:
                    self._now(record)
        self._queue.release(until)

    def _release_idle(self, now: int) -> None:
        """Join waiting records when stream time advances without records."""
        if now <= self.context.idle_time:
            self._release(now - self._join.grace_ms)

    def _release_all(self) -> None:
        """Join all waiting records."""
        last = self._queue.last_time()
        if last is not None:
            self._release(last)
