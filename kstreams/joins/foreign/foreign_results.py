"""The third stage of a foreign-key join: store the results by the left table's keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.columns.keys import has_key_codes
from kstreams.joins.change import Change
from kstreams.joins.foreign.foreign_messages import Response
from kstreams.joins.foreign.results_columns import ForeignResultColumns
from kstreams.joins.join_terms import Terms
from kstreams.joins.joiner import How
from kstreams.joins.tables.compaction import by_key
from kstreams.processors.closure import ClosureProcessor, HandsOn
from kstreams.processors.column_form import Input, Need, NodeForm, Output, Reason
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.spec import StoreSpec
from kstreams.state.stores.timestamped.rows import TimestampedRows

__all__ = ("ForeignResults",)


@dataclass(frozen=True)
class ForeignResults:
    """Creates the processors that put responses into the table of results.

    If a left row has moved from one foreign key to another within a batch, the tasks of both keys
    may send a response. The response to the row's change in this batch is current. A response to
    the row's earlier state is dropped if it arrives later, and replaced if it arrives first.

    Args:
        store: The store of results.
        how: The kind of join; it determines whether left rows without a right row have a result.

    Source: `ResponseJoinProcessorSupplier` of Kafka Streams, which compares hashes of left values
    instead and is eventually consistent.
    """

    store: StoreSpec[Any]
    how: How

    def __call__(self) -> _Results:
        """Return a new processor."""
        return _Results(self.store)

    @property
    def column_form(self) -> NodeForm:
        """Return the column form, whose input is responses and whose output is changes."""
        return NodeForm((Need.RECORDS,), self._by_columns, output=Output.CHANGES)

    def _by_columns(self, rows: Input) -> ColumnProcessor | Reason:
        source = rows.records
        if not has_key_codes(source.key):
            return f"equal keys of {source.key.name} may have different bytes"
        return ForeignResultColumns(self.store, source)

    @property
    def join_terms(self) -> Terms:
        """Return the kind of join."""
        return {"how": self.how}

    @property
    def stores(self) -> tuple[StoreSpec[Any], ...]:
        """Return the store of results."""
        return (self.store,)


class _Results(ClosureProcessor[Any, Response, Any, "Change[Any]"]):
    hands_on: ClassVar[HandsOn] = "all"
    keeps_key: ClassVar[bool] = True

    def __init__(self, store: StoreSpec[Any]) -> None:
        self._store = store

    def bind(
        self, context: ProcessorContext[Any, Change[Any]]
    ) -> Callable[[Record[Any, Response]], None]:
        rows: TimestampedRows[Any, Any] = TimestampedRows.of(context.store(self._store))
        get, put = rows.reader(), rows.writer()
        forward, known = context.forward, by_key(self._store.key)
        changed: set[object] = set()
        at_end = context.hold(lambda _: changed.clear())

        def process(record: Record[Any, Response]) -> None:
            key, (now, value), time = record.key, record.value, record.timestamp
            if changed and not now and known(key) in changed:
                return
            before = get(key)
            put(key, None if value is None else (value, time))
            forward(Record(key, Change(value, None if before is None else before[0]), time))
            if now:
                if not changed:
                    at_end(None)
                changed.add(known(key))

        return process
