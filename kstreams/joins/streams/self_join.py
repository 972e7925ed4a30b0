"""Join a stream with itself; each record is stored once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from kstreams.joins.columns.self_join import SelfJoinColumns
from kstreams.joins.join_processor import ClosureJoinProcessor, found_in_store
from kstreams.joins.streams.closing import Closing
from kstreams.joins.streams.partners import partner_finder, remembering
from kstreams.joins.streams.supplier import WithinSupplier
from kstreams.processors.column_form import Input, Reason
from kstreams.processors.columns import ColumnProcessor
from kstreams.processors.context import ProcessorContext
from kstreams.record import Record
from kstreams.state.stores.join.coding import CLOCKS, SETTLED
from kstreams.state.stores.join.rows import JoinRows
from kstreams.state.stores.join.setup import NO_CLOCKS, Setup
from kstreams.times import FAR_MS

__all__ = ("SelfJoin",)

_Process = Callable[[Record[Any, Any]], None]


@dataclass(frozen=True)
class SelfJoin(WithinSupplier):
    """Creates the processors of an inner `join_streams` for one stream on both sides.

    The results equal those of a `StreamJoin` that gets each record first on the left side and then
    on the right side. A record is retained on both sides or on neither, so only one side is stored.
    This does not hold for left and outer joins: a late record may be forwarded unmatched on one
    side and be retained on the other.

    Args:
        joiner: An inner joiner.
        within: The window and the grace.
        store: The `join_store`; only its left side is used.
        execution: `auto` (by columns if possible), `records` (by records) or `columns`.

    Source: `org.apache.kafka.streams.kstream.internals.KStreamKStreamSelfJoin`, where late records
    join themselves.
    """

    def __call__(self) -> _SelfJoin:
        """Return a new processor."""
        return _SelfJoin(self)

    def _by_columns(self, left: Input, right: Input) -> ColumnProcessor | Reason:
        sources = left.records, left.records
        return SelfJoinColumns(self.within, self.joiner, self.store, sources)


class _SelfJoin(ClosureJoinProcessor[Any, Any, Any, Any, Any]):
    keeps_key: ClassVar[bool] = True

    def __init__(self, join: SelfJoin) -> None:
        self._join = join

    def bind(self, context: ProcessorContext[Any, Any]) -> tuple[_Process, _Process]:
        joiner = self._join.joiner
        rows: JoinRows[Any, Any, Any] = JoinRows.of(context.store(self._join.store))
        setup = rows.set_up(Setup.of(*self._join.within.spans_ms))
        rows.unpack()
        before, after, memory = setup.before, setup.after, setup.memory
        rows.drop_open(FAR_MS)
        get, drop = rows.overlay.get, context.drop
        forward, function = context.forward, joiner.function
        find = partner_finder(rows, setup.width)
        remember = remembering(rows, Closing(rows, setup, joiner, context), 0)
        reach = max(before, after)

        def process(record: Record[Any, Any]) -> None:
            key, value, time = record.key, record.value, record.timestamp
            if key is None or value is None:
                drop("null-value" if value is None else "null-key")
                return
            clocks = get(CLOCKS) or NO_CLOCKS
            oldest = clocks[1] - memory
            first, last = max(time - reach, oldest), time + reach
            headers = record.headers
            found = find(0, key, first, last, -FAR_MS)[0]
            for when, _, _, other in found:
                if -before <= when - time <= after:
                    forward(Record(key, function(value, other), max(time, when), headers))
            if time >= oldest:
                found.insert(bisect_right(found, time, key=_time), (time, 0, SETTLED, value))
            elif not found:
                drop("late")
            for when, _, _, other in found:
                if -before <= time - when <= after:
                    forward(Record(key, function(other, value), max(time, when), headers))
            remember(clocks, record, SETTLED)

        return process, found_in_store


def _time(element: tuple[int, int, int, Any]) -> int:
    return element[0]
