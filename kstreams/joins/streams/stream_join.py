"""Join records of two streams that have the same key and nearby times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.durations import milliseconds
from kstreams.joins.columns.stream_join import StreamJoinColumns
from kstreams.joins.join_processor import ClosureJoinProcessor
from kstreams.joins.streams.closing import Closing
from kstreams.joins.streams.partners import GONE, partner_finder, remembering, settle
from kstreams.joins.streams.supplier import WithinSupplier
from kstreams.processors.column_form import Input, Reason
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import ProcessorContext, PunctuationType
from kstreams.record import Record
from kstreams.state.stores.join.coding import CLOCKS, SETTLED, WAITING
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import NO_CLOCKS, Setup
from kstreams.times import FAR_MS

__all__ = ("StreamJoin",)

_Process = Callable[[Record[Any, Any]], None]


@dataclass(frozen=True)
class StreamJoin(WithinSupplier):
    """Creates the processors of `join_streams`, and declares their store.

    Each side retains records whose age, relative to the newest record of that side, is at most
    `before + after + grace`. Windows close by the task's stream time; unmatched results of closed
    windows are forwarded before the results of the record that closed them.

    Args:
        joiner: A joiner of any kind.
        within: The window and the grace.
        store: The `join_store` of both sides.
        execution: `auto` (by columns if possible), `records` (by records) or `columns`.
        of_itself: Whether both sides are one stream.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamKStreamJoin`; unmatched results wait
    for the grace and are final (KAFKA-19536), and are forwarded first (KAFKA-10847).
    """

    of_itself: bool = False

    def __call__(self) -> _StreamJoin:
        """Return a new processor."""
        return _StreamJoin(self)

    def _by_columns(self, left: Input, right: Input) -> ColumnProcessor | Reason:
        if left.punctuated:
            return "a node after it has a stream-time punctuator"
        sources = left.records, right.records
        return StreamJoinColumns(
            self.within, self.joiner, self.store, sources, of_itself=self.of_itself
        )


class _StreamJoin(ClosureJoinProcessor[Any, Any, Any, Any, Any]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, join: StreamJoin) -> None:
        self._join = join

    def bind(self, context: ProcessorContext[Any, Any]) -> tuple[_Process, _Process]:
        joiner = self._join.joiner
        rows: JoinRows[Any, Any, Any] = JoinRows.of(context.store(self._join.store))
        self._rows = rows
        self._setup = rows.set_up(Setup.of(*self._join.within.spans_ms))
        if self._join.of_itself:
            rows.mirror()
        rows.unpack()
        self._closing = Closing(rows, self._setup, joiner, context)
        if joiner.how == "inner":
            rows.drop_open(FAR_MS)  # those of an outer join before
        else:
            close, closing = self._closing.close, PunctuationType.STREAM_TIME
            context.schedule(milliseconds(1), closing, close, name="close")
            context.on_end_of_run(self._closing.close_all)
        return self._side(context, 0), self._side(context, 1)

    def _side(self, context: ProcessorContext[Any, Any], side: int) -> _Process:
        """Return the function that processes the records of a side."""
        rows, setup, closing, other = self._rows, self._setup, self._closing, 1 - side
        get, drop, forward = rows.overlay.get, context.drop, context.forward
        joined = self._joined(side)
        find, remember = (
            partner_finder(rows, setup.width),
            remembering(rows, closing, side),
        )
        keeps, others_kept = closing.keeps[side], closing.keeps[other]
        back, ahead = (setup.after, setup.before) if side else (setup.before, setup.after)
        memory = setup.memory
        own_delay, other_delay = ahead + setup.grace, back + setup.grace

        def process(record: Record[Any, Any]) -> None:
            key, value, time = record.key, record.value, record.timestamp
            now = context.stream_time
            if now > closing.next:
                closing.close(now)
            if key is None or value is None:
                if keeps and value is not None:
                    forward(record.with_value(joined(value, None)))
                else:
                    drop("null-value" if value is None else "null-key")
                return
            clocks = get(CLOCKS) or NO_CLOCKS
            final = clocks[3 + other]
            if others_kept:
                final = max(final, now - other_delay)
            first, last = max(time - back, clocks[1 + other] - memory), time + ahead
            found, waiting = find(other, key, first, last, final)
            fate = SETTLED
            if found:
                if waiting:
                    settle(rows, waiting, first, last, final)
                for each in found:
                    result, when = joined(value, each[3]), max(time, each[0])
                    forward(Record(key, result, when, record.headers))
            elif keeps:
                if time < max(clocks[3 + side], now - own_delay):
                    forward(record.with_value(joined(value, None)))
                    fate = GONE
                else:
                    fate = WAITING
            elif time < max(now - own_delay, clocks[1 + side] - memory):
                drop("late")
            remember(clocks, record, fate)

        return process

    def _joined(self, side: int) -> Callable[[Any, Any], Any]:
        """Return the joiner function with a record's own side as the first argument."""
        function = self._join.joiner.function
        return (lambda own, other: function(other, own)) if side else function
